"""The built-in model: answers with sentences of the sources when no language model is configured.

`model` is the `ChatModel`; `statements` and `sentences` take a source apart, `conversation` takes a prompt apart,
`relevance` finds what answers a question, `standalone_query` and `followup_questions` are what it makes of a
conversation. In a team, an agent that can search adds what the others have not said; one that cannot sums them up.
"""
