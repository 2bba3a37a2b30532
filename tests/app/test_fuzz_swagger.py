"""Requests that schemathesis makes of the Swagger document, nightly: the routes are those of `test_fuzz`."""

import pytest
import schemathesis
from schemathesis import Case

from tests.app.test_fuzz import check, checked, config
from tests.description.documents import SWAGGER
from tests.local.running_host import RunningHost

__all__ = ["checked"]
swagger = schemathesis.openapi.from_dict(SWAGGER, config=config(()))


@pytest.mark.nightly
@swagger.parametrize()
def test_a_request_made_of_the_swagger_document_is_handled_as_described(case: Case, checked: RunningHost) -> None:
    check(case, checked)
