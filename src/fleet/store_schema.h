// The tables and views of a store; docs/fleet.md explains them to users.
#pragma once

#include "fleet/sqlite.h"

namespace gputopo::fleet {

// Creates the tables in an empty database.
void create_schema(sqlite::Database& database);
// Throws a StoreError unless the database has exactly the tables and views of a store.
void check_schema(sqlite::Database& database);

}  // namespace gputopo::fleet
