import pytest

pytest.register_assert_rewrite("tests.retrieval.retriever_contract")
