// Package schema defines everything that a fleet stores in Azure Table Storage:
// the names of its tables, queues and container, how keys are formed, and which
// properties each entity has. A file holds one kind of entity: a type, its Entity
// method, and the function that reads it back.
//
//	table                PartitionKey                     RowKey          an entity is
//	readings             device id                        ticks[-suffix]  one reading
//	devices              device id                        device          who a device is
//	enrollments          enrollment id                    enrollment      a group of devices, its keys and policy
//	fleet                month[.shard]                    device id       that a device exists
//	partitions<pipeline> month[.shard]                    device id       how far a pipeline has read it
//	runs                 pipeline                         slot, in ticks  one run
//	                     pipeline!slot                    month!, worker! figures of a run
//	                     pipeline!audits                  short, full     the run that put the last audits
//	policies             readings table                   policies        its cohorts and stored policies
//	latest               tenant!month[.shard]             device id       the newest of each sensor
//	rollups              tenant!window!day!month[.shard]  device!bucket   aggregates of each sensor
//	rejects              device id                        row key         a row that could not be processed
//	config               config                           counting down   a generation of the configuration
//
// Storage sorts keys as text. Ticks, months and days are padded so that text
// order is time order, and parts of a key are separated by "!", which sorts
// before whatever a part may hold: a tenant's day and the buckets of
// neighbouring devices are each one range of keys. A tenant is any text, and Tenant.Key
// escapes it for keys.
package schema
