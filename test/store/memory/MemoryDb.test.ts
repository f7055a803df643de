import { assert, describe, it } from "@effect/vitest"
import { MemoryDb } from "../../../src/store/memory/MemoryDb.ts"

const db = (): MemoryDb => new MemoryDb(() => {})

describe("MemoryDb", () => {
  it("keeps a value until its lifetime has passed, to the millisecond", () => {
    const data = db()
    data.now = 1_000
    data.set("k", "v", 500)
    data.now = 1_499
    assert.strictEqual(data.get("k"), "v")
    data.now = 1_500
    assert.isUndefined(data.get("k"))
  })

  it("keeps hashes and sorted sets without a lifetime forever, and others until they expire", () => {
    const data = db()
    data.hset("h", "f", "v")
    data.zadd("z", 1, "m")
    data.zadd("short", 1, "m")
    data.pexpire("short", 10)
    data.now = 10
    data.evict()
    assert.strictEqual(data.size, 2)
    assert.strictEqual(data.zcard("short"), 0)
    assert.deepStrictEqual([data.hget("h", "f"), data.zscore("z", "m")], ["v", 1])
  })

  it("reads 0 for a number that is missing or is not a finite number", () => {
    const data = db()
    data.hset("h", "seven", "7")
    data.hset("h", "text", "seven")
    data.hset("h", "infinite", "1e999")
    assert.deepStrictEqual(data.hgetNumbers("h", ["seven", "missing", "text", "infinite"]), [7, 0, 0, 0])
    assert.deepStrictEqual(data.hgetNumbers("missing", ["seven"]), [0])
  })

  it("creates an expired hash or sorted set again without the old lifetime", () => {
    const data = db()
    data.zadd("z", 1, "old")
    data.pexpire("z", 10)
    data.now = 10
    data.zadd("z", 2, "new")
    data.now = 1_000
    assert.deepStrictEqual(data.zrangebyscore("z", 0, 9, 9), ["new"])
  })

  it("evicts expired keys only on request, and removes the key of an emptied hash or set", () => {
    const data = db()
    data.set("k", "v", 10)
    data.hset("h", "f", "v")
    data.zadd("z", 1, "m")
    data.hdel("h", "f")
    data.zrem("z", "m")
    assert.strictEqual(data.size, 1)
    data.now = 10
    assert.strictEqual(data.size, 1)
    data.evict()
    assert.strictEqual(data.size, 0)
  })

  it("treats a key of another type as absent when it is read", () => {
    const data = db()
    data.zadd("z", 1, "m")
    assert.deepStrictEqual([data.get("z"), data.hget("z", "m"), data.hlen("z")], [undefined, undefined, 0])
    assert.isFalse(data.zrem("absent", "m"))
  })

  it("sets several fields, adds several members, and reads members by rank", () => {
    const data = db()
    data.hsetMany("h", ["a", "1", "b", "2", "a", "3"])
    assert.deepStrictEqual([data.hget("h", "a"), data.hget("h", "b"), data.hlen("h")], ["3", "2", 2])
    data.zaddMany("z", [3, "c", "1", "a", 2, "b"])
    assert.deepStrictEqual(data.zrange("z", 0, 2), ["a", "b"])
    assert.deepStrictEqual(data.zrange("z", 1, Number.POSITIVE_INFINITY), ["b", "c"])
    assert.deepStrictEqual([data.zrange("z", 3, 1), data.zrange("z", 0, 0), data.zrange("none", 0, 9)], [[], [], []])
  })

  it("keeps the members with the highest scores, and removes the key when none remain", () => {
    const data = db()
    data.zaddMany("z", [3, "c", 1, "a", 2, "b"])
    data.zkeepLast("z", 3)
    assert.strictEqual(data.zcard("z"), 3)
    data.zkeepLast("z", 2)
    assert.deepStrictEqual(data.zrange("z", 0, 9), ["b", "c"])
    data.zkeepLast("z", 0)
    assert.strictEqual(data.size, 0)
  })
})
