// Package tables implements a client of Azure Table Storage on top of aztables: accounts,
// tables, entities and their values, queries of ranges of keys, transactions, errors, and
// counts of operations. The first try of most calls goes without aztables, which retries
// them and names their errors. Package tables/schema defines what Furrow stores with it.
package tables
