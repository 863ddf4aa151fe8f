"""validate_report.py SCHEMA REPORT...: prints as JSON a list that says of each report where it breaks the schema, a line an
error; empty where it does not. A schema may refer to others that lie beside it."""

import json
import pathlib
import sys
import warnings

import jsonschema

schema_path = pathlib.Path(sys.argv[1])
schema = json.loads(schema_path.read_text(encoding="utf-8"))
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # what replaces it is not in Debian yet
    beside = jsonschema.RefResolver(schema_path.resolve().as_uri(), schema)
validator = jsonschema.Draft7Validator(schema, resolver=beside)


def errors_of(report):
    return "\n".join(
        "/".join(str(part) for part in error.absolute_path) + " " + error.message[:300] for error in validator.iter_errors(report)
    )


print(json.dumps([errors_of(json.loads(pathlib.Path(path).read_text(encoding="utf-8"))) for path in sys.argv[2:]]))
