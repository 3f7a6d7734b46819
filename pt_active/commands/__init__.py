"""The commands of ``pt-active``, each a function that returns what is to be printed."""
