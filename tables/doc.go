// Package tables implements a client of Azure Table Storage: accounts, tables, entities and their values, a codec of
// rows with struct tags, queries of ranges of keys, transactions, errors, and counts of operations. Package
// tables/schema defines what Furrow stores with it.
//
// # Where aztables ends
//
// Two things send requests:
//
//	tables, stored policies            aztables
//	rows: get, query, write, $batch    this package: it writes the request, and reads the answer
//	  the first try                    straight to the transport, signed with the key or the SAS
//	  what is left of the call         azcore's pipeline: pauses, tries, time limits, Entra's tokens
//
// Rows do not go through aztables, because it decodes and encodes every entity twice, loses the type of whole doubles
// and digits of long integers, does not return the ETags of a transaction, and panics on an incomplete answer to one.
// A request is what aztables would send (TestRequestsAreThoseOfTheSDK), but for the User-Agent, and but for inserts,
// which ask for no content.
//
// The first try has no pipeline, because that takes twice the processor time for what a try without a failure does
// not need, about as much as the embedded storage takes to answer it (BenchmarkFirstTry compares them in one run).
// The outcome of a first try that fails is the first outcome that the pipeline sees: policy handOver stands where the
// transport would send it. So whether to wait, for how long, and which error a call ends with, is azcore's decision
// from the first try on, and one failure counts once. Where Entra authorizes requests, the pipeline sends all tries.
//
// Each try is signed by its own time, is observed (Config.OnOperation), and reads its answer's body within its own
// time limit.
package tables
