"""A server on the organiser's machine, in whose pages several people judge the documents of a plan."""
