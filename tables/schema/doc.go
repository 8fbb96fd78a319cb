// Package schema defines everything that a fleet stores in Azure Table Storage:
// the names of its tables, queues and container, how keys are formed, and which
// properties each entity has. A file holds one kind of entity: a type, its Entity
// method, and the function that reads it back. The tags of its fields name the properties
// (see tables.Entity.Encode); the two functions add the keys, and check what fields have
// in common. testdata/rows.golden has a row of each type, as programs must write it.
//
//	table                PartitionKey                     RowKey          an entity is
//	readings             device ID                        ticks[-suffix]  one reading
//	devices              device ID                        device          who a device is
//	enrollments          enrollment ID                    enrollment      a group of devices, its keys and policy
//	places               enrollment ID                    device!ID       a device that registered itself
//	                     enrollment ID                    places          their number, while there is a limit
//	fleet                month[.shard]                    tenant!device   a membership: a device of a tenant
//	                     !layout                          layout          how this fleet's keys are formed
//	partitions<pipeline> month[.shard]                    tenant!device   how far a pipeline has read a device
//	                     month[.shard]                    !mark!kind!…    something to be made again (see Mark)
//	                     month[.shard]                    !group!kind     the job that makes it (see GroupTurn)
//	runs                 pipeline                         slot, in ticks  one run
//	                     pipeline!slot                    month!, worker! figures of a run
//	                     pipeline!audits                  short, full     the run that put the last audits
//	                     pipeline                         notify!target   the state of a target of notifications
//	                     pipeline                         unheard!enr…    an enrollment with rows that no token admitted
//	                     !verified                        day!tenant      what a sample of devices has of a day
//	                     !verified                        !state          how far samples were verified
//	policies             readings table                   policies        its cohorts and stored policies
//	latest               tenant!month[.shard]             device ID       the newest value of each sensor
//	rollups              tenant!window!day!month[.shard]  device!bucket   aggregates of each sensor
//	buckets              tenant!window!day!month[.shard]  bucket!device   the same by time, for reports
//	reports              tenant!window!period!month[.…]   by!group!bucket aggregates of the devices of a group
//	                     tenant!window!period!month[.…]   !bucket         which groups a bucket has
//	incidents            tenant!month[.shard]             newest first!…  a transition, a note, or a delivery
//	                     tenant!open                      newest first!…  an entry of the index of open incidents
//	                     [tenant]!mutes                   random          a mute
//	deliveries           target!month[.shard]             tenant!row      a transition that a target is still to be told
//	                     target!given-up                  month!tenant!…  one that was given up
//	rejects              device ID                        pipeline!slot   a row that could not be processed
//	commands             device ID                        ticks-suffix    a command
//	                     device ID                        ID!ack!row key  an acknowledgement that a reading had
//	                     device ID                        desired         the configuration that the device is to have
//	                     device ID                        !count          how many commands wait, at most
//	config               config                           counting down   a generation of the configuration
//	                     processes                        process         a process that follows the configuration
//	access               access                           name            who may look or act, and the hash of the token
//	activity             month!tenant                     newest first    who did what, with what outcome
//
// Storage sorts keys as text. Ticks, months and days are padded so that text order is
// time order. Parts of a key are separated by "!", which sorts before all characters
// that a part may have: a tenant's day, a tenant's members and the buckets of
// neighboring devices are each one range of keys. Tenants are any text, and escaped
// in keys (see Tenant.Key).
//
// Members of a month are in the order of tenants, so that the devices of a batch
// nearly always share a tenant, and their outputs share transactions.
//
// Messages and entities carry the number of the format in which they are written. See
// Format for how two versions of the program share a fleet, and Layout for why keys
// cannot change that way. To change a format, raise Format (of a directory, the number in
// tables/local; of a processor's fold or state, add the number to its Formats). Read the
// older ones, go on writing them while the fleet's configuration has the lower number, and
// keep files of each in testdata/format-N. .ci/upgrade has two versions share a fleet.
package schema
