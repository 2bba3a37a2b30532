"""The built-in model: answers with sentences of the sources when no language model is configured.

`model` is the `ChatModel`. `statements` splits a source into statements, `relevance` finds the statements that answer a
question, `questions` makes search queries and follow-up questions. In a team, an agent that can search adds what the
others have not said; one that cannot search sums up what they said.
"""
