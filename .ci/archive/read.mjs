// Reads a folder of Parquet files as DuckDB and as hyparquet see it, and prints one JSON object a
// line: the reader, and the columns of a row that are not null.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'

import { DuckDBInstance } from '@duckdb/node-api'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'

const folder = process.argv[2]

function print(reader, row) {
	const found = Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined))
	process.stdout.write(JSON.stringify({ reader, row: found }) + '\n')
}

// DuckDB finds tenant, date and window in the names of the folders.
const duckdb = await (await DuckDBInstance.create(':memory:')).connect()
async function query(files, columns) {
	const answer = await duckdb.runAndReadAll(`select * exclude (time, date), epoch_ms(time)::double as time, date::varchar as date
		from read_parquet('${folder}/${files}', hive_partitioning = true, union_by_name = true)`)
	for (const row of answer.getRowObjectsJson()) print('DuckDB', columns(row))
}
await query('*/*/*.parquet', row => row)
await query('hours/*/*/*/*.parquet', row => ({ kind: 'hours', ...row }))
// Of open days, hours; and where a day has its files already, these alone.
const read = files => `(from read_parquet('${folder}/${files}', hive_partitioning = true, union_by_name = true))`
const both = await duckdb.runAndReadAll(`with days as ${read('*/*/*.parquet')}, hours as ${read('hours/*/*/*/*.parquet')},
	newest as (from days union all by name (select * exclude (hour) from hours anti join days using (tenant, date, device, key)))
	select * exclude (time, date), epoch_ms(time)::double as time, date::varchar as date from newest`)
for (const row of both.getRowObjectsJson()) print('both', row)
const sums = ({ first_time, last_time, ...row }) => ({ ...row, count: Number(row.count), ...('devices' in row && { devices: Number(row.devices) }) })
for (const kind of ['rollups', 'reports']) await query(`${kind}/*/*/*/*.parquet`, row => ({ kind, ...sums(row) }))

for (const name of readdirSync(folder, { recursive: true }).filter(name => name.endsWith('.parquet'))) {
	const content = readFileSync(join(folder, name))
	const file = content.buffer.slice(content.byteOffset, content.byteOffset + content.byteLength)
	const folders = dirname(name).split(sep)
	const keys = Object.fromEntries(folders.filter(part => part.includes('=')).map(part => part.split('=')))
	for (const row of await parquetReadObjects({ file, compressors })) {
		const found = { ...row, time: row.time.getTime(), ...keys }
		const kind = { kind: folders[0] }
		print('hyparquet', 'window' in keys ? { ...kind, ...sums(found) } : 'hour' in keys ? { ...kind, ...found } : found)
	}
}
