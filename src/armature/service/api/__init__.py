"""The HTTP interface: routes, bodies, answers, access."""
