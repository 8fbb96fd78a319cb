// The account that the tests run on, and how they look at refusals.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/**
 * An account to test on, until its close is called: of the furrow binary that the
 * environment names in FURROW, or the one of the connection string in
 * FURROW_TEST_STORAGE. What the tests make there has names of its own.
 */
export async function account({ listen = '127.0.0.1:0' } = {}) {
	const given = process.env.FURROW_TEST_STORAGE
	if (given) return { ...parse(given), close() {} }
	if (!process.env.FURROW) throw new Error('set FURROW to the path of a furrow binary')
	const data = await mkdtemp(join(tmpdir(), 'furrow-clients-'))
	const key = randomBytes(64).toString('base64')
	const server = await serve(['storage', '--data', data, '--listen', listen, '--account', 'clients', '--json'], { FURROW_ACCOUNT_KEY: key })
	const close = async () => {
		await server.close()
		await rm(data, { recursive: true })
	}
	const { account, blob, queue, table } = server.screen
	return { data, ...parse(`AccountName=${account};AccountKey=${key};BlobEndpoint=${blob};QueueEndpoint=${queue};TableEndpoint=${table}`), close }
}

/** Starts a role of the binary, which says as a line of JSON where it listens: its screen. */
export async function serve(args, environment = {}) {
	const server = spawn(process.env.FURROW, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...environment } })
	const ended = once(server, 'exit')
	const line = await Promise.race([once(createInterface(server.stdout), 'line'), ended.then(() => { throw new Error(`furrow ${args[0]} ended before it listened`) })])
	const close = async () => {
		server.kill()
		await ended
	}
	return { screen: JSON.parse(line[0]), close }
}

function parse(connection) {
	const terms = connection.split(';').filter(Boolean).map(term => [term.slice(0, term.indexOf('=')), term.slice(term.indexOf('=') + 1)])
	const { AccountName: name, AccountKey: key, BlobEndpoint: blob, QueueEndpoint: queue, TableEndpoint: table } = Object.fromEntries(terms)
	return { name, key, blob, queue, table, connection: `DefaultEndpointsProtocol=http;${connection}` }
}

/** A name for a table, queue or container that nothing else has. */
export function unique(prefix) {
	return prefix + randomBytes(6).toString('hex')
}

/** Expects a refusal such as "404 ResourceNotFound", and gives the error. */
export async function refused(promise, want) {
	const error = await promise.then(() => { throw new assert.AssertionError({ message: `not refused; want ${want}` }) }, e => e)
	if (error.statusCode === undefined) throw error
	const code = error.details?.odataError?.code ?? error.details?.errorCode ?? error.code
	assert.equal(`${error.statusCode} ${code}`, want)
	return error
}

/** Everything that an async iterator gives. */
export async function all(iterator) {
	const items = []
	for await (const item of iterator) items.push(item)
	return items
}
