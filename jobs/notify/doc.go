// Package notify tells targets about incidents: webhooks, Alertmanagers, storage queues and people, by mail.
//
// The jobs that write transitions of incidents also write a delivery for each target of the rule into the table
// deliveries, and note on the target's state that it has work. A deliver job takes the target by a claim on that state,
// reads its deliveries and sends them.
//
// # What holds
//
// Every delivery is sent until the target accepts it or it is given up, at least once. What became of it is a row
// beside the incident, and the table deliveries is a hint: a job reads that row before it sends, so nothing is sent
// again once its success is recorded, whoever wrote its delivery again. One job at a time works for a target, and it
// stops sending before its claim ends.
//
// Deliveries of one group are one message, whose ID follows from those of its deliveries. Before its first attempt, the
// ID is written to the deliveries, so each repetition is the same message. If some of them are muted or done by then,
// the others are another message: a receiver that knows the first one, or comes to know it later, ignores neither.
//
// An incident's closing is delivered after its opening, and only to targets that were told of the opening. While an
// incident is muted, its deliveries wait, and they are dropped if it closes before the mute ends.
package notify
