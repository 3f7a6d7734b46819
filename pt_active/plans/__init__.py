"""A sample of rankings that is kept while people judge, and what its labels answer."""
