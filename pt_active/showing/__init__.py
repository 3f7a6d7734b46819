"""A page of results and its forms: text, HTML, JSON, charts and figures."""
