package api

// parameters returns what the routes take, by a name of their own.
func parameters() map[string]parameter {
	return map[string]parameter{
		"after": {"after", "query", `{"type": "string"}`,
			"next of the part before. It belongs to the same other parameters."},
		"afterOfTenants": {"after", "query", `{"type": "string"}`,
			"next of the previous page."},
		"bbox": {"bbox", "query", `{"type": "string", "examples": ["-10.5,35,30,60"]}`,
			"West, south, east and north in degrees, separated by commas. If west is greater than east, the " +
				"box crosses the 180th meridian."},
		"by": {"by", "query", `{"examples": ["tenant", "site", "labels.class"], "type": "string"}`,
			"What is reported together: tenant, site or labels.NAME, one of those that are configured. " +
				"Default: as site or label, otherwise tenant."},
		"byOfOutliers": {"by", "query", `{"type": "string", "examples": ["labels.class", "tenant"]}`,
			"With what devices are compared whose site has fewer than six: labels.NAME for those with the same " +
				"value of a label, or tenant for all of the tenant. Default: with none."},
		"byOfTenantSummary": {"by", "query", `{"type": "string", "examples": ["site", "labels.class"]}`,
			"What is side by side, of what is reported: site or labels.NAME. Default: site, if it is " +
				"reported."},
		"command": {"command", "path", `{"type": "string"}`,
			"ID of the command."},
		"day": {"day", "query", `{"type": "string", "format": "date"}`,
			"A day in UTC. Default: today."},
		"dayOfTenantSummary": {"day", "query", `{"type": "string", "format": "date"}`,
			"A day in UTC. Default: today. The period is the one that has it."},
		"device": {"device", "query", `{"type": "string"}`,
			"Only incidents of this device."},
		"devices": {"devices", "query", `{"examples": ["pump-7,pump-8"], "type": "string"}`,
			"IDs of at most 100 devices, separated by commas. Each has to exist."},
		"format": {"format", "query", `{"enum": ["json", "jsonl", "csv", "arrow"], "type": "string"}`,
			"Format of the answer. Default: as the Accept header prefers, otherwise json."},
		"from": {"from", "query",
			`{"type": "string", "examples": ["2026-11-21T08:00:00Z", "2026-11-21", "-2h"]}`,
			"Start of the span (inclusive): a time, a date, or a time before now. UTC unless it has a zone."},
		"fromOfSeries": {"from", "query",
			`{"type": "string", "examples": ["2026-11-21T08:00:00Z", "2026-11-21", "-2h"]}`,
			"Start of the series (inclusive): a time, a date, or a time before now. UTC unless it has a zone."},
		"fromOfArchive": {"from", "query", `{"type": "string", "examples": ["2026-11-21", "-90d"]}`,
			"First day: a time on it, a date, or a time before now. UTC unless it has a zone. Default: a " +
				"month before to."},
		"fromOfIncidents": {"from", "query",
			`{"type": "string", "examples": ["2026-11-21T08:00:00Z", "2026-11-21", "-2h"]}`,
			"Only incidents that opened first at this time or later: a time, a date, or a time before now. " +
				"UTC unless it has a zone. Default: all, or with to the day before it."},
		"fromOfActivity": {"from", "query", `{"type": "string"}`,
			"Time of the oldest act, such as 2026-11-21T08:00:00Z, or -2h."},
		"id": {"id", "path", `{"type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"}`,
			""},
		"incident": {"incident", "path", `{"type": "string", "examples": ["overheating~pump-7~20261120T081500Z"]}`,
			"Its ID: rule~device~time of the first opening."},
		"label": {"label", "query", `{"type": "string"}`,
			"Only devices with this label: NAME=TEXT, or NAME for any text."},
		"labelOfReports": {"label", "query", `{"type": "string"}`,
			"Only this value, of reports by a label: NAME=TEXT."},
		"labelOfIncidents": {"label", "query", `{"type": "string"}`,
			"Only incidents of devices that had this label when they opened: NAME=TEXT, or NAME for any text."},
		"limit": {"limit", "query", `{"type": "integer", "minimum": 1, "maximum": 1000000}`,
			"Most rows of the answer. Default: 1000 in JSON, otherwise 1,000,000."},
		"limitOfDevices": {"limit", "query", `{"type": "integer", "minimum": 1, "maximum": 1000000}`,
			"Most devices of the answer. Default: 50 in JSON, where it is at most 1000, otherwise 1,000,000."},
		"limitOfOutliers": {"limit", "query", `{"type": "integer", "minimum": 1, "maximum": 1000, "default": 50}`,
			"Most rows of the answer."},
		"limitOfTenants": {"limit", "query", `{"type": "integer", "minimum": 1, "maximum": 1000}`,
			"Devices per page."},
		"model": {"model", "query", `{"type": "string"}`,
			"Only devices of this model."},
		"month": {"month", "query", `{"type": "string", "examples": ["2026-11"]}`,
			"A month in UTC. Default: this month."},
		"newest": {"newest", "query", `{"type": "integer", "minimum": 1, "maximum": 1000}`,
			"This many of the newest rows, the newest first, instead of those of a span. With sensors, those of " +
				"these rows are left out that have none of the sensors."},
		"path": {"path", "query", `{"type": "string"}`,
			"Path of a file, as /v1/archive/files has it."},
		"period": {"period", "query", `{"type": "string", "default": "day", "enum": ["day", "week", "month"]}`,
			"Length. A week begins on Monday."},
		"prefix": {"prefix", "query", `{"type": "string"}`,
			"Only devices whose IDs begin with this text."},
		"rule": {"rule", "query", `{"type": "string"}`,
			"Only incidents of this rule."},
		"sensor": {"sensor", "query", `{"type": "string"}`,
			"Sensor to show. Default: the number that most devices have."},
		"sensors": {"sensors", "query", `{"examples": ["oil,fan_speed"], "type": "string"}`,
			"Names of sensors, separated by commas. Default: all."},
		"sensorsOfReadings": {"sensors", "query", `{"examples": ["oil,fan_speed"], "type": "string"}`,
			"Names of sensors, separated by commas. Default: all. Rows without any of them are left out."},
		"severity": {"severity", "query", `{"type": "string", "enum": ["critical", "warning", "info"]}`,
			"Only incidents of this severity."},
		"site": {"site", "query", `{"type": "string"}`,
			"Only devices of this site."},
		"siteOfReports": {"site", "query", `{"type": "string"}`,
			"Only this site, of reports by site."},
		"siteOfIncidents": {"site", "query", `{"type": "string"}`,
			"Only incidents of devices that were at this site when they opened."},
		"sort": {"sort", "query",
			`{"type": "string", "enum": ["device", "time", "value", "state"], "default": "device"}`,
			"By ID, by the newest value, by the greatest value, or by state: held, silent, revoked, new, then ok."},
		"span": {"span", "query", `{"type": "string", "examples": ["90m", "24h", "7d", "1y"]}`,
			"Length up to now, instead of from and to. Default: 24h."},
		"spanOfSeries": {"span", "query", `{"type": "string", "examples": ["90m", "24h", "7d", "1y"]}`,
			"Length of the series up to now, instead of from and to. Default: 24h."},
		"spanOfIncidents": {"span", "query", `{"type": "string", "examples": ["90m", "24h", "7d", "1y"]}`,
			"Length up to now, instead of from and to. Default: all that are kept."},
		"state": {"state", "query", `{"type": "string", "enum": ["ok", "silent", "held", "revoked"]}`,
			"Only devices in this state."},
		"stateOfIncidents": {"state", "query", `{"type": "string", "examples": ["open,acknowledged,closed"]}`,
			"Only incidents in these states, separated by commas. Default: open,acknowledged."},
		"tenant": {"tenant", "query", `{"type": "string"}`,
			"Only devices of this tenant."},
		"tenantOfCosts": {"tenant", "query", `{"type": "string"}`,
			"Only this tenant."},
		"tenantOfDay": {"tenant", "path", `{"type": "string", "minLength": 1, "maxLength": 128}`,
			""},
		"tenantOfReports": {"tenant", "query", `{"type": "string"}`,
			"Only this tenant. Default: all with devices, one after the other."},
		"tenantOfArchive": {"tenant", "query", `{"type": "string"}`,
			"Whose tables. Default: for somebody who may see one tenant, that one; otherwise none."},
		"tenantOfArchiveFiles": {"tenant", "query", `{"type": "string"}`,
			"Whose table. Required, unless the token sees one tenant only."},
		"table": {"table", "query", `{"type": "string", "default": "readings", "examples": ["rollups-1h", "reports-1d"]}`,
			"Name of the table."},
		"fromOfArchiveFiles": {"from", "query", `{"type": "string", "examples": ["2026-11-21", "-90d"]}`,
			"First day: a time on it, a date, or a time before now. UTC unless it has a zone. Default: all."},
		"toOfArchiveFiles": {"to", "query", `{"type": "string", "examples": ["2026-11-21", "-90d"]}`,
			"Time before which the days begin: a time, a date, or a time before now. Default: all."},
		"tenantOfIncidents": {"tenant", "query", `{"type": "string"}`,
			"Only incidents of this tenant."},
		"text": {"text", "query", `{"type": "string"}`,
			"Only devices that have this text in any part of their ID, in any case."},
		"to": {"to", "query",
			`{"type": "string", "examples": ["2026-11-21T08:00:00Z", "2026-11-21", "-2h"]}`,
			"End of the span (exclusive). Default: now: a time, a date, or a time before now. UTC unless it " +
				"has a zone."},
		"toOfSeries": {"to", "query",
			`{"type": "string", "examples": ["2026-11-21T08:00:00Z", "2026-11-21", "-2h"]}`,
			"End of the series (exclusive). Default: now: a time, a date, or a time before now. UTC unless it " +
				"has a zone."},
		"toOfArchive": {"to", "query", `{"type": "string", "examples": ["2026-11-21", "-90d"]}`,
			"Time before which the days begin: a time, a date, or a time before now. Default: after the " +
				"newest day."},
		"toOfIncidents": {"to", "query",
			`{"type": "string", "examples": ["2026-11-21T08:00:00Z", "2026-11-21", "-2h"]}`,
			"Only incidents that opened first before this time. Default: now."},
		"toOfActivity": {"to", "query", `{"type": "string"}`,
			"Time before which the newest act began."},
		"where": {"where", "query",
			`{"examples": ["oil > 190 and labels.class == \"Fryer\""], "type": "string"}`,
			"Only devices whose newest values meet this condition. Names are sensors; labels.NAME is a label " +
				"of the device."},
		"whereOfReadings": {"where", "query", `{"examples": ["oil > 190 and door == \"open\""], "type": "string"}`,
			"Only rows that meet this condition. Names are sensors as the device's model has them; " +
				"labels.NAME is a label of the device."},
		"whereOfQuery": {"where", "query",
			`{"examples": ["oil > 190 and labels.class == \"Fryer\""], "type": "string"}`,
			"Only rows that meet this condition, and in newest values devices. Names are sensors as their " +
				"model has them; labels.NAME is a label of the device. In windows, a sensor alone is its mean; it " +
				"also has .count, .sum, .min, .max, .first and .last."},
		"window": {"window", "query",
			`{"type": "string", "default": "auto", "examples": ["raw", "1m", "1h", "1d"]}`,
			"auto selects the shortest window with at most 1,500 points, and raw readings for up to an hour."},
		"windowOfQuery": {"window", "query",
			`{"default": "auto", "examples": ["1m", "1h", "1d", "newest"], "type": "string"}`,
			"Size of the windows that a pipeline keeps, or newest for the newest value of each sensor. auto " +
				"selects the shortest with at most 200 windows in the span."},
		"windowOfReports": {"window", "query", `{"default": "auto", "examples": ["1h", "1d"], "type": "string"}`,
			"Size of the windows, one of those that are reported. auto selects the shortest with at most 200 " +
				"windows in the span."},
		"windowOfCosts": {"window", "query", `{"type": "string", "enum": ["1d"]}`,
			"1d: a line for each day with devices or readings, by tenant and day. Default: a line for the " +
				"month, the most expensive tenant first."},
		"zoom": {"zoom", "query", `{"type": "number", "minimum": -5, "maximum": 30}`,
			"At zoom 0 the world is 256 pixels wide; each level doubles it. Clusters are about 64 pixels " +
				"wide. Default: a zoom that fits the box."},
	}
}

func information() object {
	return object{"title": "Furrow dashboard API", "version": "1",
		"description": "Data of a fleet. Only incidents, commands and desired configurations can be changed here. Times " +
			"are RFC 3339 in UTC. Answers may get new members; no member changes its meaning. A dashboard on loopback " +
			"needs no secret until somebody has access; otherwise send a token from furrow access add as bearer token or " +
			"as password, or the dashboard's password or token. A tenant's token sees that tenant only: others, and " +
			"pipelines, are unknown to it. Of a fleet in several storage accounts, answers leave out those that cannot be " +
			"read, and have the header Furrow-Incomplete then."}
}

// extent returns the headers of answers with rows.
func extent() object {
	return object{
		"Furrow-From":       header("Start of the span.", "string"),
		"Furrow-To":         header("End of the span.", "string"),
		"Furrow-Limit":      header("As limit.", "integer"),
		"Furrow-Count":      header("As count.", "integer"),
		"Furrow-Rows-Read":  header("As rowsRead.", "integer"),
		"Furrow-Next":       header("As next.", "string"),
		"Furrow-Unreadable": header("As unreadable.", "integer"),
		"Furrow-Operations": header("As operations.", "integer"),
	}
}

// A failure is a status with the codes of its problems.
type failure struct{ status, name, about string }

func failed() []failure {
	return []failure{
		{"400", "BadRequest", "bad-request: the path, a parameter or the body is invalid."},
		{"401", "Unauthorized", "unauthorized: a password or a token is missing or wrong."},
		{"403", "Forbidden", "forbidden: the proxy's name for the person has no access here, or the act needs another role."},
		{"404", "NotFound", "not-found: no such device, tenant, incident or page, or one that the token may not see."},
		{"405", "MethodNotAllowed", "method-not-allowed: the address does not have the method; the header Allow has those " +
			"that it has."},
		{"409", "Conflict", "conflict: it cannot be done now. The list of commands is full, the device has taken the " +
			"command, its enrollment has no commands, or the incident is closed."},
		{"421", "WrongHost", "wrong-host: the Host header names another host than this dashboard serves."},
		{"429", "TooMany", "too-many-requests: wrong secrets again and again from this address, or too many open streams, " +
			"conditions, or questions for many rows: 16 are answered at a time, of a tenant 12, and of a person 8."},
		{"500", "Internal", "internal: an internal error; the log has the reason."},
		{"503", "StorageAway", "storage-unavailable: storage failed or is busy; try again after Retry-After."},
	}
}

// requests returns the schemas of bodies.
func requests() map[string]string {
	text := `"text": {"type": "string", "maxLength": 1000}`
	return map[string]string{
		"AckRequest":  `{"type": "object", "properties": {` + text + `}}`,
		"NoteRequest": `{"type": "object", "required": ["text"], "properties": {` + text + `}}`,
		"CommandRequest": `{"type": "object", "required": ["body"], "properties": {` +
			`"body": {"description": "JSON that the device gets, at most 16 KiB."}, ` +
			`"ttl": {"type": "string", "description": "How long it waits, such as 10m; 1s to 7d.", "default": "1h"}}}`,
		"DesiredRequest": `{"description": "Any JSON, at most 16 KiB."}`,
	}
}
