"""The built-in model: answers with sentences of the sources when no language model is configured.

`model` is the `ChatModel`. `statements` splits a source into statements, `relevance` tells how far each answers a
question, `quotes` chooses those to quote with what they need, `questions` makes search queries and follow-up questions,
and `sayings` has what the model says itself. In a team, an agent with a search tool adds statements that the other
agents have not made; an agent without one summarizes their messages.
"""
