"""The reference RAI service: a stand-in for laptops and tests, not a safety product.

`python -m local.rai_service` serves the interface of the real one (`shared/guard/rai/rai.proto`) and finds the words
of a policy file, nothing more: it understands no sentence. It is here to show how watermarks, results and faults act.
"""
