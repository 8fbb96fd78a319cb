// Reads a folder of Parquet files as DuckDB and as hyparquet see it, and prints one JSON object a
// line: the reader, and the columns of a row that are not null.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { DuckDBInstance } from '@duckdb/node-api'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'

const folder = process.argv[2]

function print(reader, row) {
	const found = Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined))
	process.stdout.write(JSON.stringify({ reader, row: found }) + '\n')
}

// DuckDB finds tenant and date in the names of the folders.
const duckdb = await (await DuckDBInstance.create(':memory:')).connect()
const files = `read_parquet('${folder}/*/*/*.parquet', hive_partitioning = true, union_by_name = true)`
const answer = await duckdb.runAndReadAll(`select * exclude (time, date), epoch_ms(time)::double as time, date::varchar as date from ${files}`)
for (const row of answer.getRowObjectsJson()) print('DuckDB', row)

for (const tenant of readdirSync(folder)) {
	for (const date of readdirSync(join(folder, tenant))) {
		for (const name of readdirSync(join(folder, tenant, date)).filter(name => name.endsWith('.parquet'))) {
			const content = readFileSync(join(folder, tenant, date, name))
			const file = content.buffer.slice(content.byteOffset, content.byteOffset + content.byteLength)
			for (const row of await parquetReadObjects({ file, compressors })) {
				print('hyparquet', { ...row, time: row.time.getTime(), tenant: tenant.split('=')[1], date: date.split('=')[1] })
			}
		}
	}
}
