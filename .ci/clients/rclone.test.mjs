// What people do with rclone: it copies, compares, lists, syncs and deletes by a token of the account.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { AccountSASPermissions, BlobServiceClient, StorageSharedKeyCredential, generateAccountSASQueryParameters } from '@azure/storage-blob'
import { account, all, unique } from './storage.mjs'

describe('rclone', () => {
	let storage, service, folder, environment, container
	before(async () => {
		storage = await account()
		const credential = new StorageSharedKeyCredential(storage.name, storage.key)
		service = new BlobServiceClient(storage.blob, credential)
		const token = generateAccountSASQueryParameters({ permissions: AccountSASPermissions.parse('rwdlac'), services: 'b', resourceTypes: 'sco', expiresOn: new Date(Date.now() + 3600e3) }, credential)
		folder = await mkdtemp(join(tmpdir(), 'furrow-rclone-'))
		environment = { ...process.env, RCLONE_CONFIG: join(folder, 'none.conf'), RCLONE_CONFIG_BOX_TYPE: 'azureblob', RCLONE_CONFIG_BOX_SAS_URL: `${storage.blob}?${token}` }
		container = unique('c-')
		for (const [name, content] of Object.entries(files)) await write(name, content)
	})
	after(async () => {
		await service.deleteContainer(container).catch(() => {})
		await storage.close()
		await rm(folder, { recursive: true })
	})

	const files = { 'a.txt': 'hello', empty: '', 'dir/grüße & more.csv': 'x,y\n', 'dir/deep/large.bin': randomBytes((9 << 20) + 17) }
	const write = async (name, content) => {
		await mkdir(dirname(join(folder, 'from', name)), { recursive: true })
		await writeFile(join(folder, 'from', name), content)
	}
	const rclone = async (...args) => (await promisify(execFile)('rclone', [...args, '--retries', '1', '--low-level-retries', '1', '--azureblob-chunk-size', '4Mi'], { env: environment, maxBuffer: 1 << 26 })).stdout
	const box = (path = '') => `box:${container}/${path}`
	const from = () => join(folder, 'from')
	const names = async () => (await all(service.getContainerClient(container).listBlobsFlat())).map(b => b.name).sort()

	test('copies a folder, and finds it the same', async () => {
		await rclone('mkdir', box())
		await rclone('copy', from(), box())
		assert.deepEqual(await names(), Object.keys(files).sort())
		await rclone('check', from(), box())
		await rclone('check', '--download', from(), box())
		assert.match(await rclone('lsd', 'box:'), new RegExp(container))
		assert.deepEqual(JSON.parse(await rclone('lsjson', '-R', '--files-only', box('dir'))).map(f => [f.Path, f.Size]).sort(), [['deep/large.bin', (9 << 20) + 17], ['grüße & more.csv', 4]])
		assert.equal(await rclone('cat', box('a.txt')), 'hello')
		assert.equal(await rclone('cat', '--offset', '1', '--count', '3', box('a.txt')), 'ell')
	})

	test('notices a difference', async () => {
		await service.getContainerClient(container).getBlockBlobClient('a.txt').upload('other', 5)
		await assert.rejects(rclone('check', from(), box()))
	})

	test('syncs what has changed, and deletes what is gone', async () => {
		await write('a.txt', 'changed since')
		await rm(join(from(), 'empty'))
		await rclone('sync', from(), box())
		assert.deepEqual(await names(), Object.keys(files).filter(name => name !== 'empty').sort())
		await rclone('check', from(), box())
	})

	test('reads append blobs', async () => {
		const log = service.getContainerClient(container).getAppendBlobClient('log')
		await log.create()
		for (const line of ['one\n', 'two\n']) await log.appendBlock(line, line.length)
		await rclone('copyto', box('log'), join(folder, 'log'))
		assert.equal(await readFile(join(folder, 'log'), 'utf8'), 'one\ntwo\n')
	})

	test('copies back, and deletes', async () => {
		await rclone('copy', box('dir'), join(folder, 'to'))
		assert.deepEqual(await readFile(join(folder, 'to/deep/large.bin')), files['dir/deep/large.bin'])
		await rclone('deletefile', box('log'))
		await rclone('delete', box('dir'))
		assert.deepEqual(await names(), ['a.txt'])
		await rclone('purge', box())
		assert.equal(await service.getContainerClient(container).exists(), false)
	})
})
