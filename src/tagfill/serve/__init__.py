"""The web app: try a model, review the missing tags, train again; an HTTP interface to a run."""
