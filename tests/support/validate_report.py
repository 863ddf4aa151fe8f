"""validate_report.py SCHEMA REPORT: exits with 1 and one line an error where the report breaks the schema. A schema may
refer to others that lie beside it."""

import json
import pathlib
import sys
import warnings

import jsonschema

with open(sys.argv[1]) as schema_file, open(sys.argv[2]) as report_file:
    schema = json.load(schema_file)
    report = json.load(report_file)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # what replaces it is not in Debian yet
    beside = jsonschema.RefResolver(pathlib.Path(sys.argv[1]).resolve().as_uri(), schema)
errors = list(jsonschema.Draft7Validator(schema, resolver=beside).iter_errors(report))
for error in errors:
    print("/".join(str(part) for part in error.absolute_path), error.message[:300])
sys.exit(1 if errors else 0)
