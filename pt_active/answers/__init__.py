"""Answers of systems to items, such as questions or prompts: which system is better?

An item is a query, an answer a document, and each system's ranking of an item is its own answer [theory 18]. So all
that the package does for rankings it does for answers.
"""
