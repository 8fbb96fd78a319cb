import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Readable } from 'node:stream'
import { AccountSASPermissions, BlobSASPermissions, BlobServiceClient, BlockBlobClient, ContainerClient, ContainerSASPermissions, StorageSharedKeyCredential, generateAccountSASQueryParameters, generateBlobSASQueryParameters } from '@azure/storage-blob'
import { account, all, refused, unique } from './storage.mjs'

const once = { retryOptions: { maxTries: 1 } }

let storage, credential, service
before(async () => {
	storage = await account()
	credential = new StorageSharedKeyCredential(storage.name, storage.key)
	service = new BlobServiceClient(storage.blob, credential, once)
})
after(() => storage.close())

// container gives a client of a new container, which is deleted after the test.
async function container(t, options) {
	const client = service.getContainerClient(unique('c-'))
	await client.create(options)
	t.after(() => client.delete())
	return client
}

const md5 = content => createHash('md5').update(content).digest()
const blockID = n => Buffer.from(String(n).padStart(6, '0')).toString('base64')
const text = async download => (await download).readableStreamBody.toArray().then(parts => Buffer.concat(parts).toString())

describe('containers', () => {
	test('are created once, and deleted once', async () => {
		const client = service.getContainerClient(unique('c-'))
		assert.equal(await client.exists(), false)
		await client.create()
		assert.equal(await client.exists(), true)
		await refused(client.create(), '409 ContainerAlreadyExists')
		assert.equal((await client.createIfNotExists()).succeeded, false)
		await client.delete()
		await refused(client.delete(), '404 ContainerNotFound')
		assert.equal((await client.deleteIfExists()).succeeded, false)
		await refused(client.getProperties(), '404 ContainerNotFound')
		await refused(all(client.listBlobsFlat()), '404 ContainerNotFound')
		await refused(client.getBlockBlobClient('b').upload('x', 1), '404 ContainerNotFound')
	})

	test('with bad names are refused', async () => {
		await refused(service.createContainer('ab'), '400 OutOfRangeInput')
		await refused(service.createContainer('Upper'), '400 InvalidResourceName')
		await refused(service.createContainer('two--hyphens'), '400 InvalidResourceName')
	})

	test('have metadata and properties', async t => {
		const client = await container(t, { metadata: { one: '1' } })
		const created = await client.getProperties()
		assert.deepEqual([created.metadata, created.leaseState, created.leaseStatus], [{ one: '1' }, 'available', 'unlocked'])
		assert.match(created.etag, /^"0x[0-9A-F]+"$/)
		await client.setMetadata({ two: 'a=b; c' })
		const changed = await client.getProperties()
		assert.deepEqual(changed.metadata, { two: 'a=b; c' })
		assert.notEqual(changed.etag, created.etag)
	})

	test('are listed by page and prefix', async t => {
		const prefix = unique('list-')
		for (const end of ['a', 'b', 'c']) {
			const { containerClient } = await service.createContainer(`${prefix}-${end}`, { metadata: { end } })
			t.after(() => containerClient.delete())
		}
		const pages = await all(service.listContainers({ prefix, includeMetadata: true }).byPage({ maxPageSize: 2 }))
		assert.deepEqual(pages.map(page => page.containerItems.map(c => [c.name, c.metadata])),
			[[[`${prefix}-a`, { end: 'a' }], [`${prefix}-b`, { end: 'b' }]], [[`${prefix}-c`, { end: 'c' }]]])
		const [first] = await all(service.listContainers({ prefix }))
		assert.equal(first.properties.etag, (await service.getContainerClient(first.name).getProperties()).etag)
	})
})

describe('blobs', () => {
	test('come back as they were put', async t => {
		const client = (await container(t)).getBlockBlobClient('dir/a b+c%20ü日😀&=?#\'"<>.txt')
		const content = Buffer.from('hello, wörld')
		const put = await client.upload(content, content.length, {
			blobHTTPHeaders: { blobContentType: 'text/plain; charset=utf-8', blobContentLanguage: 'en', blobContentEncoding: 'identity', blobCacheControl: 'no-store', blobContentDisposition: 'attachment; filename="x.txt"' },
			metadata: { purpose: 'test', other: 'a=b; c' },
		})
		assert.deepEqual(Buffer.from(put.contentMD5), md5(content))
		assert.match(put.etag, /^"0x[0-9A-F]+"$/)
		const got = await client.download()
		assert.equal(await text(got), 'hello, wörld')
		for (const seen of [got, await client.getProperties()]) {
			assert.deepEqual([seen.etag, seen.contentLength, seen.contentType, seen.contentLanguage, seen.contentEncoding, seen.cacheControl, seen.contentDisposition, seen.metadata, seen.blobType, seen.acceptRanges],
				[put.etag, content.length, 'text/plain; charset=utf-8', 'en', 'identity', 'no-store', 'attachment; filename="x.txt"', { purpose: 'test', other: 'a=b; c' }, 'BlockBlob', 'bytes'])
			assert.deepEqual(Buffer.from(seen.contentMD5), md5(content))
			assert.deepEqual([seen.leaseState, seen.leaseStatus, seen.isServerEncrypted], ['available', 'unlocked', true])
			assert.equal(seen.lastModified.getTime(), put.lastModified.getTime())
		}
		assert.equal((await client.getProperties()).accessTier, 'Hot')
	})

	test('have a default type and may be empty', async t => {
		const client = (await container(t)).getBlockBlobClient('empty')
		await client.upload('', 0)
		const got = await client.download()
		assert.deepEqual([await text(got), got.contentLength, got.contentType], ['', 0, 'application/octet-stream'])
		await refused(client.download(0, 10), '416 InvalidRange')
	})

	test('are read in ranges', async t => {
		const client = (await container(t)).getBlockBlobClient('ranges')
		const content = randomBytes(5 << 20)
		await client.uploadData(content)
		const part = await client.download(100, 50, { rangeGetContentMD5: true })
		assert.deepEqual([part._response.status, part.contentRange, part.contentLength], [206, `bytes 100-149/${content.length}`, 50])
		assert.deepEqual(Buffer.from(part.contentMD5), md5(content.subarray(100, 150)))
		const parts = Buffer.concat(await part.readableStreamBody.toArray())
		assert.ok(parts.equals(content.subarray(100, 150)))
		assert.equal((await client.download(content.length - 3)).contentLength, 3)
		assert.equal((await client.download(content.length - 3, 100)).contentLength, 3)
		await refused(client.download(content.length), '416 InvalidRange')
		assert.ok((await client.downloadToBuffer(0, undefined, { blockSize: 1 << 20, concurrency: 4 })).equals(content))
		assert.ok((await client.downloadToBuffer(12345, 2 << 20, { blockSize: 700_000 })).equals(content.subarray(12345, 12345 + (2 << 20))))
	})

	test('are uploaded in blocks side by side', async t => {
		const client = (await container(t)).getBlockBlobClient('blocks')
		const content = randomBytes((9 << 20) + 17)
		await client.uploadData(content, { blockSize: 1 << 20, maxSingleShotSize: 1 << 20, concurrency: 4, metadata: { by: 'blocks' }, blobHTTPHeaders: { blobContentType: 'x/y' } })
		const seen = await client.getProperties()
		assert.deepEqual([seen.contentLength, seen.contentType, seen.metadata, seen.contentMD5], [content.length, 'x/y', { by: 'blocks' }, undefined])
		assert.ok((await client.downloadToBuffer()).equals(content))
		assert.equal((await client.getBlockList('all')).committedBlocks.length, 10)
		await client.uploadStream(Readable.from([content.subarray(0, 1 << 20), content.subarray(1 << 20)]), 2 << 20, 3)
		assert.ok((await client.downloadToBuffer()).equals(content))
	})

	test('are made of staged blocks', async t => {
		const client = (await container(t)).getBlockBlobClient('staged')
		await refused(client.getBlockList('all'), '404 BlobNotFound')
		const put = await client.stageBlock(blockID(1), 'one', 3, { transactionalContentMD5: md5('one') })
		assert.deepEqual(Buffer.from(put.contentMD5), md5('one'))
		await client.stageBlock(blockID(2), 'two!', 4)
		await client.stageBlock(blockID(3), 'three', 5)
		await refused(client.getProperties(), '404 BlobNotFound')
		const sizes = blocks => blocks.map(b => [b.name, b.size])
		const staged = await client.getBlockList('all')
		assert.deepEqual([staged.committedBlocks, sizes(staged.uncommittedBlocks)], [[], [[blockID(1), 3], [blockID(2), 4], [blockID(3), 5]]])
		await client.commitBlockList([blockID(3), blockID(1), blockID(3)])
		assert.equal(await text(client.download()), 'threeonethree')
		const committed = await client.getBlockList('all')
		assert.deepEqual([sizes(committed.committedBlocks), committed.uncommittedBlocks], [[[blockID(3), 5], [blockID(1), 3], [blockID(3), 5]], []])
		assert.equal(committed.blobContentLength, 13)
		await client.stageBlock(blockID(1), 'new', 3)
		await client.commitBlockList([blockID(1), blockID(3)]) // the newest of each
		assert.equal(await text(client.download()), 'newthree')
		await refused(client.commitBlockList([blockID(9)]), '400 InvalidBlockList')
		await client.stageBlock(blockID(4), 'four', 4)
		await refused(client.stageBlock(Buffer.from('longer-id').toString('base64'), 'x', 1), '400 InvalidBlobOrBlock')
		await refused(client.stageBlock(blockID(5), 'x', 1, { transactionalContentMD5: md5('y') }), '400 Md5Mismatch')
		await client.commitBlockList([])
		assert.equal(await text(client.download()), '')
	})

	test('are changed on conditions only', async t => {
		const client = (await container(t)).getBlockBlobClient('conditions')
		const put = (content, conditions) => client.upload(content, content.length, { conditions })
		await refused(put('a', { ifMatch: '*' }), '412 ConditionNotMet')
		const { etag, lastModified } = await put('a', { ifNoneMatch: '*' })
		await refused(put('b', { ifNoneMatch: '*' }), '409 BlobAlreadyExists')
		await refused(put('b', { ifMatch: '"0x1"' }), '412 ConditionNotMet')
		await refused(client.download(0, undefined, { conditions: { ifMatch: '"0x1"' } }), '412 ConditionNotMet')
		await refused(client.download(0, undefined, { conditions: { ifNoneMatch: etag } }), '304 ConditionNotMet')
		await refused(client.getProperties({ conditions: { ifModifiedSince: lastModified } }), '304 ConditionNotMet')
		await refused(client.getProperties({ conditions: { ifUnmodifiedSince: new Date(lastModified - 60e3) } }), '412 ConditionNotMet')
		await refused(client.delete({ conditions: { ifMatch: '"0x1"' } }), '412 ConditionNotMet')
		await refused(client.setMetadata({ a: 'b' }, { conditions: { ifNoneMatch: etag } }), '412 ConditionNotMet')
		const second = await put('b', { ifMatch: etag })
		await client.stageBlock(blockID(1), 'c', 1)
		await refused(client.commitBlockList([blockID(1)], { conditions: { ifMatch: etag } }), '412 ConditionNotMet')
		await client.commitBlockList([blockID(1)], { conditions: { ifMatch: second.etag } })
		assert.equal(await text(client.download()), 'c')
	})

	test('have metadata and headers that are replaced as a whole', async t => {
		const client = (await container(t)).getBlockBlobClient('meta')
		await client.upload('x', 1, { metadata: { a: '1' }, blobHTTPHeaders: { blobContentType: 'text/plain', blobContentLanguage: 'de' } })
		const { etag } = await client.setMetadata({ b: '2' })
		assert.deepEqual((await client.getProperties()).metadata, { b: '2' })
		await client.setHTTPHeaders({ blobContentType: 'text/html' })
		const seen = await client.getProperties()
		assert.deepEqual([seen.contentType, seen.contentLanguage, seen.metadata, seen.etag === etag], ['text/html', undefined, { b: '2' }, false])
		await client.setMetadata()
		assert.deepEqual((await client.getProperties()).metadata, {})
		await refused(client.setMetadata({ 'not-a-name': '1' }), '400 InvalidMetadata')
	})

	test('grow by blocks that are appended', async t => {
		const client = (await container(t)).getAppendBlobClient('log')
		await refused(client.appendBlock('x', 1), '404 BlobNotFound')
		await client.create({ metadata: { by: 'appends' }, blobHTTPHeaders: { blobContentType: 'text/plain' } })
		assert.equal((await client.createIfNotExists()).succeeded, false)
		const first = await client.appendBlock('one ', 4, { transactionalContentMD5: md5('one '), conditions: { appendPosition: 0 } })
		assert.deepEqual([first.blobAppendOffset, first.blobCommittedBlockCount], ['0', 1])
		const second = await client.appendBlock('two', 3, { conditions: { maxSize: 7, ifMatch: first.etag } })
		assert.deepEqual([second.blobAppendOffset, second.blobCommittedBlockCount], ['4', 2])
		await refused(client.appendBlock('x', 1, { conditions: { appendPosition: 4 } }), '412 AppendPositionConditionNotMet')
		await refused(client.appendBlock('x', 1, { conditions: { maxSize: 7 } }), '412 MaxBlobSizeConditionNotMet')
		await refused(client.appendBlock('x', 1, { conditions: { ifMatch: first.etag } }), '412 ConditionNotMet')
		await refused(client.appendBlock('x', 1, { transactionalContentMD5: md5('y') }), '400 Md5Mismatch')
		assert.equal(await text(client.download()), 'one two')
		assert.equal(await text(client.download(2, 4)), 'e tw')
		const seen = await client.getProperties()
		assert.deepEqual([seen.blobType, seen.blobCommittedBlockCount, seen.contentLength, seen.contentType, seen.metadata, seen.accessTier, seen.etag],
			['AppendBlob', 2, 7, 'text/plain', { by: 'appends' }, undefined, second.etag])
	})

	test('are of one type', async t => {
		const c = await container(t)
		await c.getAppendBlobClient('log').create()
		await c.getBlockBlobClient('block').upload('x', 1)
		assert.deepEqual((await all(c.listBlobsFlat())).map(b => [b.name, b.properties.blobType, b.properties.accessTier]), [['block', 'BlockBlob', 'Hot'], ['log', 'AppendBlob', undefined]])
		await refused(c.getAppendBlobClient('block').appendBlock('x', 1), '409 InvalidBlobType')
		await refused(c.getBlockBlobClient('log').stageBlock(blockID(1), 'x', 1), '409 InvalidBlobType')
		await refused(c.getBlockBlobClient('log').commitBlockList([]), '409 InvalidBlobType')
		await c.getBlockBlobClient('log').upload('y', 1)
		assert.equal((await c.getBlobClient('log').getProperties()).blobType, 'BlockBlob')
	})

	test('are deleted once', async t => {
		const client = (await container(t)).getBlockBlobClient('gone')
		assert.equal(await client.exists(), false)
		await client.upload('x', 1)
		assert.equal((await client.delete({ deleteSnapshots: 'include' }))._response.status, 202)
		await refused(client.delete(), '404 BlobNotFound')
		await refused(client.download(), '404 BlobNotFound')
		await refused(client.getProperties(), '404 BlobNotFound')
		assert.equal((await client.deleteIfExists()).succeeded, false)
	})

	test('are listed flat and by folder', async t => {
		const client = await container(t)
		const names = ["a'&<>\"+%20 ü😀", 'b/1', 'b/2', 'b/c/3', 'd', 'e/4']
		for (const name of names) await client.getBlockBlobClient(name).upload(name, Buffer.byteLength(name), { metadata: { name: 'n' } })
		await client.getBlockBlobClient('staged only').stageBlock(blockID(1), 'x', 1)
		const flat = await all(client.listBlobsFlat({ includeMetadata: true }))
		assert.deepEqual(flat.map(b => b.name), names)
		const properties = await client.getBlobClient(names[0]).getProperties()
		assert.deepEqual([flat[0].metadata, flat[0].properties.contentLength, flat[0].properties.blobType, `"${flat[0].properties.etag}"`, flat[0].properties.lastModified, flat[0].properties.contentType, flat[0].properties.accessTier, flat[0].properties.leaseState],
			[{ name: 'n' }, Buffer.byteLength(names[0]), 'BlockBlob', properties.etag, properties.lastModified, 'application/octet-stream', 'Hot', 'available'])
		assert.deepEqual(Buffer.from(flat[0].properties.contentMD5), md5(names[0]))
		assert.deepEqual((await all(client.listBlobsFlat({ prefix: 'b/' }))).map(b => b.name), ['b/1', 'b/2', 'b/c/3'])
		const pages = await all(client.listBlobsFlat().byPage({ maxPageSize: 4 }))
		assert.deepEqual(pages.map(page => page.segment.blobItems.map(b => b.name)), [names.slice(0, 4), names.slice(4)])
		const hierarchy = await all(client.listBlobsByHierarchy('/'))
		assert.deepEqual(hierarchy.map(i => [i.kind, i.name]).sort((a, b) => a[1] < b[1] ? -1 : 1), [['blob', names[0]], ['prefix', 'b/'], ['blob', 'd'], ['prefix', 'e/']])
		const within = await all(client.listBlobsByHierarchy('/', { prefix: 'b/' }).byPage({ maxPageSize: 2 }))
		assert.deepEqual(within.map(p => [p.segment.blobItems.map(b => b.name), (p.segment.blobPrefixes ?? []).map(b => b.name)]), [[['b/1', 'b/2'], []], [[], ['b/c/']]])
		const uncommitted = await all(client.listBlobsFlat({ includeUncommitedBlobs: true, prefix: 'staged' }))
		assert.deepEqual(uncommitted.map(b => [b.name, b.properties.contentLength]), [['staged only', 0]])
	})

	test('a copy within the account is there at once', async t => {
		const c = await container(t)
		await c.getBlockBlobClient('a').upload('x', 1)
		const copy = c.getBlockBlobClient('b')
		assert.equal((await copy.syncCopyFromURL(c.getBlockBlobClient('a').url)).copyStatus, 'success')
		assert.equal((await copy.downloadToBuffer()).toString(), 'x')
	})

	test('what is not served is named', async t => {
		const c = await container(t)
		const blob = c.getBlockBlobClient('b')
		await blob.upload('x', 1)
		const calls = {
			snapshot: () => blob.createSnapshot(),
			lease: () => blob.getBlobLeaseClient().acquireLease(15),
			'append blob': () => c.getAppendBlobClient('b').seal(),
			'page blob': () => c.getPageBlobClient('p').create(512),
			tier: () => blob.setAccessTier('Cool'),
			tags: () => blob.setTags({ a: 'b' }),
			undelete: () => blob.undelete(),
			'soft delete': () => service.setProperties({ deleteRetentionPolicy: { enabled: true, days: 7 } }),
			'static websites': () => service.setProperties({ staticWebsite: { enabled: true, indexDocument: 'index.html' } }),
		}
		for (const [name, call] of Object.entries(calls)) {
			const error = await refused(call(), '501 NotImplemented')
			assert.match(error.message.toLowerCase(), new RegExp(name))
		}
	})
})

describe('the service', () => {
	const cors = [{ allowedOrigins: 'https://app.example,https://*.other.example', allowedMethods: 'GET,PUT', allowedHeaders: 'authorization,x-ms-*', exposedHeaders: 'x-ms-meta-*,ETag', maxAgeInSeconds: 60 }]

	test('keeps properties', async t => {
		t.after(() => service.setProperties({ cors: [] }))
		const before = await service.getProperties()
		assert.deepEqual([before.cors, before.hourMetrics.enabled, before.deleteRetentionPolicy.enabled, before.staticWebsite.enabled], [[], false, false, false])
		await service.setProperties({ cors })
		await service.setProperties({ hourMetrics: { version: '1.0', enabled: true, includeAPIs: true, retentionPolicy: { enabled: true, days: 5 } } })
		const after = await service.getProperties()
		assert.deepEqual([after.cors, after.hourMetrics.retentionPolicy.days], [cors, 5])
		await service.setProperties(before) // as it was given
		assert.deepEqual((await service.getProperties()).cors, [])
		await refused(service.setProperties({ cors: Array(6).fill(cors[0]) }), '400 InvalidXmlDocument')
		await refused(service.setProperties({ cors: [{ ...cors[0], allowedMethods: 'LOOK' }] }), '400 InvalidXmlNodeValue')
	})

	test('answers browsers', async t => {
		const client = (await container(t)).getBlockBlobClient('b')
		await client.upload('x', 1, { metadata: { seen: '1' } })
		const url = await client.generateSasUrl({ permissions: BlobSASPermissions.parse('r'), expiresOn: new Date(Date.now() + 600e3) })
		const ask = (origin, method = 'GET', headers = 'x-ms-version') => fetch(url, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': headers } })
		assert.equal((await ask('https://app.example')).status, 403) // without rules
		assert.equal((await fetch(url)).headers.get('vary'), null)
		t.after(() => service.setProperties({ cors: [] }))
		await service.setProperties({ cors })
		for (const origin of ['https://app.example', 'https://a.other.example']) {
			const asked = await ask(origin)
			assert.deepEqual(['origin', 'methods', 'headers'].map(of => asked.headers.get(`access-control-allow-${of}`)).concat(asked.status, asked.headers.get('access-control-max-age')), [origin, 'GET', 'x-ms-version', 200, '60'])
			const got = await fetch(url, { headers: { origin } })
			assert.deepEqual([await got.text(), ...['access-control-allow-origin', 'access-control-expose-headers', 'vary'].map(name => got.headers.get(name))], ['x', origin, 'ETag,x-ms-meta-seen', 'Origin'])
		}
		for (const answer of [await ask('https://app.example', 'DELETE'), await ask('https://other.example'), await ask('https://app.example', 'GET', 'x-other')]) assert.equal(answer.status, 403)
		assert.equal((await fetch(url, { headers: { origin: 'https://evil.example' } })).headers.get('access-control-allow-origin'), null)
		const missing = await fetch(url.replace('/b?', '/none?'), { headers: { origin: 'https://app.example' } })
		assert.deepEqual([missing.status, missing.headers.get('access-control-allow-origin')], [403, 'https://app.example']) // a page may read refusals too
		await service.setProperties({ cors: [{ ...cors[0], allowedOrigins: '*' }] })
		const got = await fetch(url, { headers: { origin: 'https://any.example' } })
		assert.deepEqual(['access-control-allow-origin', 'vary'].map(name => got.headers.get(name)), ['*', null])
	})

	test('has statistics at its secondary endpoint', async () => {
		await refused(service.getStatistics(), '400 InvalidQueryParameterValue')
		const secondary = new BlobServiceClient(`${storage.blob}-secondary`, credential, once)
		assert.equal((await secondary.getStatistics()).geoReplication.status, 'unavailable')
		await refused(all(secondary.listContainers()), '501 NotImplemented')
	})

	test('takes tokens of the account', async t => {
		const token = (permissions, resourceTypes, services = 'b') => new BlobServiceClient(`${storage.blob}?${generateAccountSASQueryParameters({ permissions: AccountSASPermissions.parse(permissions), services, resourceTypes, expiresOn: new Date(Date.now() + 600e3) }, credential)}`, undefined, once)
		const name = unique('c-')
		await token('c', 'c').createContainer(name)
		t.after(() => service.deleteContainer(name))
		const log = permissions => token(permissions, 'o').getContainerClient(name).getAppendBlobClient('log')
		await log('c').create()
		await log('a').appendBlock('x', 1)
		await refused(log('r').appendBlock('x', 1), '403 AuthorizationPermissionMismatch')
		assert.equal(await text(log('r').download()), 'x')
		assert.deepEqual((await token('r', 's').getProperties()).cors, [])
		await refused(token('r', 's').setProperties({ cors: [] }), '403 AuthorizationPermissionMismatch')
		await refused(token('r', 'o').getProperties(), '403 AuthorizationResourceTypeMismatch')
		await refused(token('r', 's', 'q').getProperties(), '403 AuthorizationServiceMismatch')
	})
})

describe('tokens and policies', () => {
	const soon = () => new Date(Date.now() + 600e3)

	test('a token of a container does what its permissions allow', async t => {
		const owner = await container(t)
		await owner.getBlockBlobClient('there').upload('x', 1)
		const may = permissions => new ContainerClient(`${owner.url}?${generateBlobSASQueryParameters({ containerName: owner.containerName, permissions: ContainerSASPermissions.parse(permissions), expiresOn: soon() }, credential)}`, undefined, once)
		assert.equal(await text(may('r').getBlobClient('there').download()), 'x')
		await refused(may('wl').getBlobClient('there').download(), '403 AuthorizationPermissionMismatch')
		assert.deepEqual((await all(may('l').listBlobsFlat())).map(b => b.name), ['there'])
		await refused(all(may('r').listBlobsFlat()), '403 AuthorizationPermissionMismatch')
		await may('c').getBlockBlobClient('new').upload('n', 1)
		await refused(may('c').getBlockBlobClient('there').upload('n', 1), '403 UnauthorizedBlobOverwrite')
		await may('w').getBlockBlobClient('there').upload('n', 1)
		await refused(may('rl').getBlockBlobClient('there').upload('n', 1), '403 AuthorizationPermissionMismatch')
		await refused(may('rwl').getBlobClient('there').delete(), '403 AuthorizationPermissionMismatch')
		await may('d').getBlobClient('there').delete()
	})

	test('a token of a blob is for that blob', async t => {
		const owner = await container(t)
		for (const name of ['dir/it\'s ü+&.txt', 'other']) await owner.getBlockBlobClient(name).upload('content', 7)
		const sas = generateBlobSASQueryParameters({
			containerName: owner.containerName, blobName: 'dir/it\'s ü+&.txt', permissions: BlobSASPermissions.parse('r'), startsOn: new Date(Date.now() - 600e3), expiresOn: soon(),
			contentType: 'text/x-own', contentDisposition: 'attachment; filename="a b.txt"', cacheControl: 'no-cache',
		}, credential)
		const holder = name => new BlockBlobClient(`${owner.getBlobClient(name).url}?${sas}`, undefined, once)
		const got = await holder('dir/it\'s ü+&.txt').download()
		assert.deepEqual([await text(got), got.contentType, got.contentDisposition, got.cacheControl], ['content', 'text/x-own', 'attachment; filename="a b.txt"', 'no-cache'])
		await refused(holder('other').download(), '403 AuthenticationFailed')
		await refused(holder('dir/it\'s ü+&.txt').delete(), '403 AuthorizationPermissionMismatch')
	})

	test('access policies are kept, and hold for the tokens that name them', async t => {
		const owner = await container(t)
		const [startsOn, expiresOn] = [new Date(Math.floor(Date.now() / 1000) * 1000 - 600e3), new Date(Math.floor(Date.now() / 1000) * 1000 + 600e3)]
		await owner.setAccessPolicy(undefined, [{ id: 'listers', accessPolicy: { startsOn, expiresOn, permissions: 'l' } }])
		const kept = await owner.getAccessPolicy()
		assert.deepEqual([kept.blobPublicAccess, kept.signedIdentifiers], [undefined, [{ id: 'listers', accessPolicy: { startsOn, expiresOn, permissions: 'l' } }]])
		const holder = new ContainerClient(`${owner.url}?${generateBlobSASQueryParameters({ containerName: owner.containerName, identifier: 'listers' }, credential)}`, undefined, once)
		assert.deepEqual(await all(holder.listBlobsFlat()), [])
		await refused(holder.getBlockBlobClient('b').upload('x', 1), '403 AuthorizationPermissionMismatch')
		await owner.setAccessPolicy()
		await refused(all(holder.listBlobsFlat()), '403 AuthenticationFailed')
	})
})
