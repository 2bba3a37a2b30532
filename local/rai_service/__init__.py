"""The reference RAI service: a stand-in for laptops and tests, not a safety product.

`python -m local.rai_service` serves the interface of the real service (`shared/guard/rai/rai.proto`). It only finds the
words of a policy file and does not understand sentences. It shows how watermarks, results and faults behave.
"""
