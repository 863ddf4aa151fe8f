"""validate_report.py SCHEMA REPORT: exits with 1 and one line an error where the report breaks the schema."""

import json
import sys

import jsonschema

with open(sys.argv[1]) as schema_file, open(sys.argv[2]) as report_file:
    validator = jsonschema.Draft7Validator(json.load(schema_file))
    errors = list(validator.iter_errors(json.load(report_file)))
for error in errors:
    print("/".join(str(part) for part in error.absolute_path), error.message[:300])
sys.exit(1 if errors else 0)
