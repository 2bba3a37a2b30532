import pytest

pytest.register_assert_rewrite("tests.chat_models.model_contract")
