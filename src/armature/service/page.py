"""A plain page that says what is running, without any script."""

from __future__ import annotations

import functools
from typing import Any

from jinja2 import Environment, Template

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Armature</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #8884 }
th:first-child, td:first-child { text-align: left }
</style>
<h1>Armature {{ version }}</h1>
{% if experiments %}
<table>
<thead><tr><th>experiment<th>status<th>decisions<th>rewards<th>events</thead>
{% for e in experiments %}
<tr><td><a href="v1/experiments/{{ e.name | urlencode }}">{{ e.name }}</a><td>{{ e.status }}
<td>{{ "{:,}".format(e.decisions) }}<td>{{ "{:,}".format(e.rounds) }}
<td>{{ "{:,}".format(e.events) }}
{% endfor %}
</table>
{% else %}
<p>There are no experiments yet: POST one to /v1/experiments.
{% endif %}
<p><a href="openapi.json">What it answers to</a>, <a href="metrics">metrics</a>.
"""


@functools.cache
def _template() -> Template:
    return Environment(autoescape=True).from_string(_PAGE)


def status_page(version: str, experiments: list[dict[str, Any]]) -> str:
    """The page."""
    return _template().render(version=version, experiments=experiments)
