// Package tables is the client for Azure Table Storage and the home of aztables:
// accounts, tables, entities and their values, queries over ranges of keys,
// transactions, errors, and a count of every operation. Package tables/schema
// says what Furrow stores with it.
package tables
