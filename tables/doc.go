// Package tables implements a client of Azure Table Storage on top of aztables: accounts,
// tables, entities and their values, queries of ranges of keys, transactions, errors, and
// counts of operations. Package tables/schema defines what Furrow stores with it.
package tables
