"""validate_report.py SCHEMA REPORT...: prints a JSON list with the schema violations of each report, one per line;
empty if there are none. A schema may refer to others in its folder."""

import json
import pathlib
import sys
import warnings

import jsonschema

schema_path = pathlib.Path(sys.argv[1])
schema = json.loads(schema_path.read_text(encoding="utf-8"))
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its replacement is not in Debian yet
    beside = jsonschema.RefResolver(schema_path.resolve().as_uri(), schema)


def items(validator, schema, values, instance):
    """Like the validator's own, but checks lists of numbers as a whole, because samples have many thousands."""
    are_numbers = isinstance(values, list) and {type(value) for value in values} <= {int, float}
    if are_numbers and schema in ({"type": "number"}, {"type": ["number", "null"]}):
        return ()
    return jsonschema.Draft7Validator.VALIDATORS["items"](validator, schema, values, instance)


Validator = jsonschema.validators.extend(jsonschema.Draft7Validator, {"items": items})
validator = Validator(schema, resolver=beside)


def errors_of(report):
    return "\n".join(
        "/".join(str(part) for part in error.absolute_path) + " " + error.message[:300] for error in validator.iter_errors(report)
    )


print(json.dumps([errors_of(json.loads(pathlib.Path(path).read_text(encoding="utf-8"))) for path in sys.argv[2:]]))
