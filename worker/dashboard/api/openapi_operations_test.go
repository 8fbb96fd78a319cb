package api

import (
	"furrow/worker/answers"
	"furrow/worker/cost"
	"furrow/worker/dashboard/model"
)

// operations returns what the routes do.
func operations() []operation {
	return []operation{
		{route: "/v1/map", id: "map",
			summary: "Devices in a part of the world",
			about:   "It takes no storage operations of its own.",
			takes:   "bbox zoom sensor tenant site label text state model where",
			answer:  model.Map{},
			tagged:  true,
		},
		{route: "/v1/stream", id: "stream",
			summary: "Live map",
			about: "Server-sent events: map, with a WorldMap, first and whenever the map's sensor changes; change, " +
				"with a Change, at most once a second; incident, with an IncidentChange, for each incident of the " +
				"selected devices that opens, closes, or is acknowledged or muted; and a comment at least every " +
				"15 s. At most 64 streams may be open at a time, of a tenant 48, and of a person 32.",
			takes:  "bbox zoom sensor tenant site label text state model where",
			events: []any{model.Map{}, model.Change{}, model.IncidentChange{}},
		},
		{route: "/v1/overview", id: "overview",
			summary: "How the fleet is, in a few numbers",
			about:   "It takes no storage operations of its own.",
			takes:   "tenant site label text state model where",
			answer:  model.Overview{},
			tagged:  true,
		},
		{route: "/v1/outliers", id: "outliers",
			summary: "Devices that stand out from their neighbours",
			about: "As furrow query --outliers finds them; furrow help outliers says how. Newest values and states " +
				"are in memory. For each thousand devices it takes about eight storage operations: for six " +
				"windows, and to find devices with rejects, at most twenty of a tenant with one more each. " +
				"Requests within five minutes share what it reads. Windows are read of at most about 20,000 " +
				"devices, and at most about 200,000 devices of 100 tenants are compared: ask for a tenant.",
			takes:  "tenant site label text state model where byOfOutliers limitOfOutliers",
			answer: model.OutlierList{},
			tagged: true,
		},
		{route: "/v1/sensors", id: "sensors",
			summary: "The sensors that devices have",
			takes:   "tenant",
			answer:  model.Sensors{},
			tagged:  true,
		},
		{route: "/v1/devices", id: "devices",
			summary: "Devices, with the newest value of a sensor",
			about: "Over all pages, each device that exists throughout and keeps its place in the order comes " +
				"once. zoom has no effect. JSON lines, CSV and Arrow have a line per device, with the sensor and " +
				"its unit. A part of these ends at the latest after about 4 MiB or 5 seconds: go on while there is " +
				"the header Furrow-Next.",
			takes: "tenant label text site prefix state sort sensor after limitOfDevices bbox zoom model " +
				"where format",
			answer: model.DeviceList{},
			rows:   []any{model.Listed{}},
			tagged: true,
		},
		{route: "/v1/devices/{id}", id: "device",
			summary: "A device",
			about:   "It takes about ten storage operations; requests within a few seconds share an answer.",
			takes:   "id",
			answer:  model.DeviceAnswer{},
			tagged:  true,
		},
		{route: "/v1/devices/{id}/stream", id: "deviceStream",
			summary: "Readings of a device, as they come",
			about: "Server-sent events: reading, with a Reading, for each row that is newer than all before; " +
				"and a comment at least every 15 s. It takes one storage operation every 3 s. At most 64 streams " +
				"may be open at a time, of a tenant 48, and of a person 32.",
			takes:  "id",
			events: []any{answers.Reading{}},
		},
		{route: "/v1/devices/{id}/series", id: "series",
			summary: "A sensor of a device over time",
			about:   "At most 2,000 points, without values of doubtful quality. It takes one storage operation per day.",
			takes:   "id sensor fromOfSeries toOfSeries window spanOfSeries",
			answer:  model.Series{},
			tagged:  true,
		},
		{route: "/v1/devices/{id}/readings", id: "readings",
			summary: "Rows that a device has written",
			about: "Each row of the span, the oldest first, with its values as the device's model understands them; " +
				"or the newest rows, the newest first. It reads at most 1,000,000 rows, one storage operation " +
				"per thousand. Where there is more, next continues: over all parts, each row that exists " +
				"throughout comes once. JSON lines have a line for each row, CSV and Arrow one for each of its " +
				"sensors. A part ends at the latest after about 4 MiB or 5 seconds: go on while there is next, " +
				"which is in the header Furrow-Next, too.",
			takes:  "id from to span newest sensorsOfReadings whereOfReadings after limit format",
			answer: model.Readings{},
			rows:   []any{answers.Reading{}},
		},
		{route: "/v1/devices/{id}/gaps", id: "gaps",
			summary: "Gaps in the numbers of a device's readings",
			about: "By day, in UTC: how many readings were made, as far as their numbers tell, which numbers " +
				"are missing or repeated, and how often the device was restarted. A number is in the row key, as " +
				"package sas/device and the example devices write it, or else in the property that the model of " +
				"the device names. The last readings of a boot can be lost unseen. It is counted from all rows of " +
				"the span, at most 1,000,000, one storage operation per thousand.",
			takes:  "id from to span format",
			answer: model.Gaps{},
			rows:   []any{answers.GapDay{}},
		},
		{route: "/v1/query", id: "query",
			summary: "What many devices have measured, by windows of time, or their newest values",
			about: "The devices that tenant, site, label, text, state, prefix and devices select: windows of a " +
				"former tenant by what the device was when it left that tenant. Windows come day by day in UTC, " +
				"within a day by tenant, month of deployment and device, and for each device by time. Newest " +
				"values come by device, and are the dashboard's: it reads no storage for them, their times are " +
				"in seconds, and of a device with more than 256 sensors, rates among them, some are missing. It " +
				"reads at most 1,000,000 rows, and refuses more than 20,000,000 windows in all. Where there is " +
				"more, next continues: over all parts, each window comes once. JSON lines " +
				"have a line for each row, CSV and Arrow one for each of its sensors. A part ends at the latest " +
				"after about 4 MiB or 5 seconds: go on while there is next, which is in the header Furrow-Next, " +
				"too.",
			takes: "tenant site label text state prefix devices sensors windowOfQuery from to span after " +
				"limit format model whereOfQuery",
			answer: either{"QueryAnswer", model.Windows{}, model.Newest{}},
			rows:   []any{answers.SensorWindows{}, answers.NewestValues{}},
		},
		{route: "/v1/readings", id: "fleetReadings",
			summary: "Rows that many devices have written",
			about: "The devices that tenant, site, label, text, state, prefix and devices select: rows of a former " +
				"tenant by what the device was when it left that tenant. They come by tenant, month of " +
				"deployment and device, and for each device the oldest first, with their values as the device's " +
				"model understands them. An answer reads at most 1,000,000 rows, one storage operation per " +
				"device and thousand. Where there is more, next continues: over all parts, each row that exists " +
				"throughout comes once. JSON lines have a line for each row, CSV and Arrow one for each of its " +
				"sensors. A part ends at the latest after about 4 MiB or 5 seconds, perhaps without rows: go on " +
				"while there is next, which is in the header Furrow-Next, too.",
			takes: "tenant site label text state prefix devices sensorsOfReadings from to span after limit format model " +
				"whereOfReadings",
			answer: model.FleetReadings{},
			rows:   []any{answers.Reading{}},
		},
		{route: "/v1/reports", id: "reports",
			summary: "What the devices of tenants, of their sites or with the values of a label have measured " +
				"together",
			about: "Reports have to be configured, by what and for which windows. They come tenant after tenant, " +
				"for each period after period (a day for windows shorter than an hour, a month for those shorter " +
				"than a day, and else a year), within one by group, and for each group by time. A bucket that is " +
				"open is reported every five minutes, or every hour where it is longer than an hour. first and " +
				"last are those by time over all devices. Where there is more, next continues: over all parts, " +
				"each report comes once. JSON lines have a line for each row, CSV and Arrow one for each of its " +
				"sensors. A part ends at the latest after about 4 MiB or 5 seconds: go on while there is next, " +
				"which is in the header Furrow-Next, too.",
			takes: "tenantOfReports by siteOfReports labelOfReports sensors windowOfReports from to span " +
				"after limit format",
			answer: model.Reports{},
			rows:   []any{answers.Report{}},
		},
		{route: "/v1/costs", id: "costs",
			summary: "What tenants cost on Azure in a month",
			about: "It needs reports by tenant. Readings and their bytes are exact; operations of jobs are " +
				"counted for the fleet, and each day's are divided among the tenants by their devices. Somebody " +
				"who may see one tenant gets that tenant alone. It takes one operation per pipeline and per " +
				"thousand of the month's days of tenants, and for each tenant and partition of the fleet one or " +
				"two, and shares what it reads with other requests for up to five minutes.",
			takes:  "tenantOfCosts month windowOfCosts",
			answer: cost.Costs{},
			tagged: true,
		},
		{route: "/v1/retention", id: "retention",
			summary: "What is kept for how long, and what stays longer",
			about: "Retention deletes readings every six hours, unless they are still needed, and notes for " +
				"each device why they stay. This counts the devices by cause. Somebody who may see one tenant " +
				"gets that tenant alone. It takes one operation per thousand devices, for at most 100,000 of " +
				"them, and for one tenant two per month of deployment, too. It shares what it reads with other " +
				"requests for up to five minutes.",
			takes:  "tenantOfCosts",
			answer: model.Retention{},
			tagged: true,
		},
		{route: "/v1/archive", id: "archive",
			summary: "What the archive has of a tenant, and what it has changed",
			about: "The tables of a tenant, what they have of the newest days, or of the days of a span, and " +
				"the newest versions of all tables. An answer has at most 100 days and 30 versions; for earlier " +
				"days, ask with its from as to. Without a tenant it tells only what waits, and for somebody who " +
				"may see one tenant, it does not tell that. It reads no file: it takes about nine storage " +
				"operations per table, one per thousand files of it, and two per thousand files and days of the " +
				"answer. It shares what it reads with other requests for half a minute.",
			takes:  "tenantOfArchive fromOfArchive toOfArchive",
			answer: model.Archive{},
			tagged: true,
		},
		{route: "/v1/archive/files", id: "archiveFiles",
			summary: "The Parquet files of a table of the archive as it is now",
			about: "For tools that cannot read Delta, and without a key of the storage account. Files that left the " +
				"table are not among them. It takes one storage operation per thousand files. Where there is more, next " +
				"continues.",
			takes:  "tenantOfArchiveFiles table fromOfArchiveFiles toOfArchiveFiles after limit format",
			answer: model.ArchiveFiles{},
			rows:   []any{model.ArchiveFile{}},
		},
		{route: "/v1/archive/file", id: "archiveFile",
			summary: "A Parquet file of the archive",
			about: "A file never changes. Who sees the tenant may read it. It takes one storage operation. 404 if it left " +
				"the table more than a day ago: ask for the files again.",
			takes: "path",
			media: "application/vnd.apache.parquet",
		},
		{route: "/v1/verify", id: "verify",
			summary: "What samples of the devices have counted in a month",
			about: "Where the configuration has a block verify, the scheduler verifies a share of the devices " +
				"each night, and each time other ones. The answer has for each tenant, and for each of its days, " +
				"how many readings the devices of the samples made, how many are stored, folded and missing, and " +
				"how many differences nothing explains, the worst first; at most 500 of each. Somebody who may " +
				"see one tenant gets that tenant alone. It takes one operation, and one per thousand of the " +
				"month's days of tenants, and shares what it reads with other requests for up to five minutes.",
			takes:  "tenantOfCosts month",
			answer: model.Completeness{},
			tagged: true,
		},
		{route: "/v1/pipelines", id: "pipelines",
			summary: "State of all pipelines",
			answer:  model.PipelinesAnswer{},
			tagged:  true,
		},
		{route: "/v1/tenants", id: "tenants",
			summary: "Tenants and their readings of today",
			about:   "At most 100 per page. It takes at most three storage operations per tenant.",
			takes:   "afterOfTenants limitOfTenants",
			answer:  model.TenantsAnswer{},
			tagged:  true,
		},
		{route: "/v1/tenants/{tenant}/day", id: "day",
			summary: "A sensor's day over the devices of a tenant",
			about: "By the hour. It takes at most 40 storage operations; of a larger tenant, some devices of " +
				"each month are read.",
			takes:  "tenantOfDay sensor day",
			answer: model.Series{},
			tagged: true,
		},
		{route: "/v1/tenants/{tenant}/summary", id: "tenantSummary",
			summary: "A sensor of a tenant in a day, week or month: over all devices, its sites side by side, " +
				"and the devices that stand out",
			about: "It needs reports by tenant, and for the sites reports by site or by a label. A day and a " +
				"week come by the shortest window that is reported, a month by days. It takes about four " +
				"operations for each partition of the fleet and at most 150 besides, and shares what it reads " +
				"with other requests for up to five minutes.",
			takes:  "tenantOfDay sensor dayOfTenantSummary period byOfTenantSummary",
			answer: model.Summary{},
			tagged: true,
		},
		{route: "/v1/incidents", id: "incidents",
			summary: "Incidents, the newest first",
			about: "Incidents that are not closed take no storage operations of their own: the dashboard " +
				"reads them for all requests every few seconds, of each tenant at most the newest 10,000. With " +
				"closed ones, the answer is read from storage, one tenant after the other: two operations per " +
				"tenant and month in which its devices were deployed, and one per thousand rows; after 100 " +
				"operations it ends with a cursor.",
			takes: "stateOfIncidents severity rule tenantOfIncidents siteOfIncidents labelOfIncidents model text " +
				"where device fromOfIncidents toOfIncidents spanOfIncidents after limit format",
			answer: model.Incidents{},
			rows:   []any{answers.Incident{}},
		},
		{route: "/v1/incidents/{incident}", id: "incident",
			summary: "An incident, with what happened and what people wrote",
			about:   "At most five storage operations.",
			takes:   "incident",
			answer:  model.IncidentAnswer{},
			tagged:  true,
		},
		{route: "POST /v1/incidents/{incident}/ack", id: "ackIncident",
			summary: "Acknowledge an incident: somebody takes care of it",
			about: `For a bearer token with the role operator. The body may be {"text": "…"}, at most ` +
				"1,000 characters. It answers with the incident; 409 if it is closed. The activity log records " +
				"it. Repeating it adds another note.",
			takes:    "incident",
			body:     "AckRequest",
			answer:   model.IncidentAnswer{},
			conflict: true,
		},
		{route: "POST /v1/incidents/{incident}/note", id: "noteIncident",
			summary: "Write a note beside an incident",
			about: `For a bearer token with the role operator. The body is {"text": "…"}, at most 1,000 ` +
				"characters. It answers with the incident. The activity log records it. Repeating it adds another " +
				"note.",
			takes:  "incident",
			body:   "NoteRequest",
			answer: model.IncidentAnswer{},
		},
		{route: "/v1/activity", id: "activity",
			summary: "Who did what, the newest first",
			about: "At most 200 acts; a tenant's token sees those about its tenant. Without a time, those of " +
				"the last 30 days.",
			takes:  "fromOfActivity toOfActivity",
			answer: Activity{},
			tagged: true,
		},
		{route: "/openapi.json", id: "openapi",
			summary: "This document",
			answer:  map[string]any{},
			tagged:  true,
		},
		{route: "/healthz", id: "healthz",
			summary: "Liveness check",
			about:   "It needs no secret and reads no storage.",
			answer:  map[string]string{},
		},
		{route: "/v1/devices/{id}/commands", id: "commands",
			summary: "The commands of a device, the newest first",
			about: "Those of the last week, with their states. An acknowledgement of the device counts more " +
				"than anything else.",
			takes:  "id",
			answer: Commands{},
			tagged: true,
		},
		{route: "POST /v1/devices/{id}/commands", id: "sendCommand",
			summary:  "Send a command to a device",
			about:    "Needs the role operator. The device gets it at least once, with its ID. At most 50 wait.",
			takes:    "id",
			body:     "CommandRequest",
			answer:   answers.Command{},
			conflict: true,
		},
		{route: "DELETE /v1/devices/{id}/commands/{command}", id: "cancelCommand",
			summary:  "Cancel a command that its device has not taken",
			about:    "Needs the role operator.",
			takes:    "id command",
			answer:   answers.Command{},
			conflict: true,
		},
		{route: "/v1/devices/{id}/desired", id: "desired",
			summary: "The configuration that a device is to have, and what it said about it",
			takes:   "id",
			answer:  answers.Command{},
			tagged:  true,
		},
		{route: "PUT /v1/devices/{id}/desired", id: "setDesired",
			summary:  "Replace the configuration that a device is to have",
			about:    "Needs the role operator. The body is the configuration, and the newest holds.",
			takes:    "id",
			body:     "DesiredRequest",
			answer:   answers.Command{},
			conflict: true,
		},
	}
}
