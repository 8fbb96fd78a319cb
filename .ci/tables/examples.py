"""Runs the examples of a page: its blocks of Python, in their order and in one namespace.

    examples.py PAGE REPLACEMENTS

REPLACEMENTS is a file of JSON: texts of the page and what to put in their place, all of which must occur, and the
numbers that averages may be. A block with the words "never run" is passed over; so is what is no Python, SQL excepted,
which must have these words. What the last line of a block yields must have rows."""

import ast
import json
import re
import sys

page, replacements = (open(name, encoding="utf-8").read() for name in sys.argv[1:])
replacements = json.loads(replacements)
unused = set(replacements["Texts"])
names = {}
wrong = []


def rows(v):
    if hasattr(v, "reset_index"):  # pandas
        v = v.reset_index().to_dict("records")
    if hasattr(v, "to_dicts"):  # polars
        v = v.to_dicts()
    return [list(row.values()) if isinstance(row, dict) else list(row) for row in v]


def run(code):
    tree = ast.parse(code)
    last = tree.body.pop()
    exec(compile(tree, "example", "exec"), names)
    if not isinstance(last, ast.Expr):
        raise ValueError("the last line yields nothing")
    found = rows(eval(compile(ast.Expression(last.value), "example", "eval"), names))
    for v in (v for row in found for v in row if isinstance(v, float)):
        if v not in replacements["Numbers"]:
            raise ValueError(f"{v} is none of {replacements['Numbers']}")
    if not found:
        raise ValueError("no rows")
    return len(found)


for language, code in re.findall(r"```(\w+)\n(.*?)```", page, re.S):
    if language not in ("python", "sql"):
        continue
    title = code.strip().splitlines()[-1].strip()
    if "never run" in code:
        print(f"never run: {title}")
        continue
    if language == "sql":
        wrong.append("SQL that is not marked as never run: " + title)
        continue
    for text, other in replacements["Texts"].items():
        if text in code:
            unused.discard(text)
            code = code.replace(text, other)
    if "spark." in code and "spark" not in names:
        import session

        names["spark"] = session.spark()
    try:
        print(f"{run(code.replace('.show()', '.collect()'))} rows: {title}", flush=True)
    except Exception as e:
        wrong.append(f"{title}: {type(e).__name__}: {e}"[:2000])
wrong += [f"the page has no {text}" for text in unused]
for one in wrong:
    print("FAIL", one)
sys.exit(bool(wrong))
