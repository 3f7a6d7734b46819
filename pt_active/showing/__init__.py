"""A page of results and its forms: text, HTML, Markdown, JSON, charts and figures."""
