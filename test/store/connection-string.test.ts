import { assert, describe, it } from "@effect/vitest"
import { Redacted, Result } from "effect"
import fc from "fast-check"
import { parseConnectionString } from "../../src/store/connection-string.ts"

/** The connection with unredacted passwords, for comparing. */
const read = (text: string): unknown => {
  const parsed = parseConnectionString(text)
  if (Result.isFailure(parsed)) return `expected ${parsed.failure}`
  return Object.fromEntries(
    Object.entries(parsed.success.connection).map(([key, value]) => [
      key,
      Redacted.isRedacted(value) ? Redacted.value(value) : value,
    ]),
  )
}
const warnings = (text: string): ReadonlyArray<string> => {
  const parsed = parseConnectionString(text)
  return Result.isSuccess(parsed) ? parsed.success.warnings : []
}

describe("a connection string that asks for TLS, in the way of any client", () => {
  it.each([
    "rediss://cache",
    ...[
      "ssl=true",
      "ssl=True",
      "ssl=1",
      "ssl=yes",
      "ssl",
      "ssl=required",
      "tls=true",
      "tls",
      "sslmode=require",
      "useSSL=true",
    ].map((option) => `redis://cache?${option}`),
    ...["ssl=true", "SSL=True", "tls=true", "ssl=required", "ssl=true,sslHost=cache.example"].map(
      (option) => `cache,${option}`,
    ),
  ])("gets TLS: %s", (text) => {
    assert.deepInclude(read(text), { host: "cache", tls: true })
    assert.deepStrictEqual(warnings(text), [])
  })

  it.each([
    ...["ssl_cert_reqs=none", "tlsCAFile=ca.pem", "sslcert=a", "ssl=maybe", "ssl=true&tls=false", "tls_insecure=1"].map(
      (option) => `redis://:hunter22@cache?${option}`,
    ),
    "rediss://:hunter22@cache?ssl=false",
    ...[
      "ssl",
      "sslHost=cache.example",
      "sslProtocols=tls12",
      "ssl=maybe",
      "ssl=true,tls=false",
      "ssl=true,sslHost=a b",
    ].map((option) => `cache:6380,${option},password=hunter22`),
    "tls://:hunter22@cache",
    "redis+tls://:hunter22@cache",
  ])("is refused where the gate cannot do it: %s", (text) => {
    assert.match(String(read(text)), /^expected /)
    assert.notInclude(String(read(text)), "hunter22")
  })

  it.each(["redis://cache?ssl=false", "redis://cache?tls=0", "cache,ssl=false", "redis://cache"])(
    "asks for no TLS: %s",
    (text) => {
      assert.deepInclude(read(text), { host: "cache", tls: false })
    },
  )

  it("knows the name that the certificate must have", () => {
    assert.deepInclude(read("10.0.0.1:6380,ssl=true,sslHost=cache.example"), {
      host: "10.0.0.1",
      serverName: "cache.example",
    })
  })
})

describe("a connection string", () => {
  it.each<[string, unknown]>([
    ["memory:", { kind: "memory" }],
    ["memory", { kind: "memory" }],
    ["redis://cache", { kind: "redis", host: "cache", port: 6379, database: 0, tls: false }],
    ["redis://cache:7000/3", { kind: "redis", host: "cache", port: 7000, database: 3, tls: false }],
    [
      "rediss://app:p%40ss%2Fw@cache.example:6380/0",
      {
        kind: "redis",
        host: "cache.example",
        port: 6380,
        username: "app",
        password: "p@ss/w",
        database: 0,
        tls: true,
      },
    ],
    ["redis://:only@[::1]:6379", { kind: "redis", host: "::1", port: 6379, password: "only", database: 0, tls: false }],
    ["redis://:p@ss@cache", { kind: "redis", host: "cache", port: 6379, password: "p@ss", database: 0, tls: false }],
    [
      "redis+sentinel://:pw@s1:26380,s2/main/2?sentinelPassword=other",
      {
        kind: "sentinel",
        sentinels: [
          { host: "s1", port: 26380 },
          { host: "s2", port: 26379 },
        ],
        master: "main",
        database: 2,
        password: "pw",
        sentinelPassword: "other",
        tls: false,
      },
    ],
    [
      "rediss+cluster://u:pw@a:7000,b:7001",
      {
        kind: "cluster",
        nodes: [
          { host: "a", port: 7000 },
          { host: "b", port: 7001 },
        ],
        username: "u",
        password: "pw",
        tls: true,
      },
    ],
    ["localhost", { kind: "redis", host: "localhost", port: 6379, database: 0, tls: false }],
    [
      "cache.example:6380,password=a=b:c@d/e,ssl=True,abortConnect=False,defaultDatabase=1",
      {
        kind: "redis",
        host: "cache.example",
        port: 6380,
        password: "a=b:c@d/e",
        database: 1,
        tls: true,
      },
    ],
    [
      "cache.example, ssl=true, user=app",
      { kind: "redis", host: "cache.example", port: 6380, username: "app", database: 0, tls: true },
    ],
    [
      "s1,s2:26380,serviceName=main,password=pw",
      {
        kind: "sentinel",
        sentinels: [
          { host: "s1", port: 26379 },
          { host: "s2", port: 26380 },
        ],
        master: "main",
        password: "pw",
        database: 0,
        tls: false,
      },
    ],
    [
      // a primary with its replicas, or nodes of a cluster; only the servers know which
      "a:7000,b:7001,password=pw,defaultDatabase=2",
      {
        kind: "hosts",
        hosts: [
          { host: "a", port: 7000 },
          { host: "b", port: 7001 },
        ],
        password: "pw",
        database: 2,
        tls: false,
      },
    ],
    ["redis://:pa,ss@cache", { kind: "redis", host: "cache", port: 6379, password: "pa,ss", database: 0, tls: false }],
  ])("reads %s", (text, expected) => {
    assert.deepStrictEqual(read(text), expected)
  })

  it.each([
    "",
    "postgres://u:hunter22@db/x",
    "redis://",
    "redis://hunter22@cache",
    "redis://:hunter%22%@cache",
    "redis://:hunter22@a,b",
    "redis://:hunter22@cache:99999",
    "redis://:hunter22@cache/one",
    "redis://:hunter/22@cache",
    "redis+sentinel://:hunter22@s1:26379",
    "redis+cluster://:hunter22@a,b/1",
    "cache:port,password=hunter22",
    "cache,password=hunter22,ssl=maybe",
    "cache,password=hunter22,defaultDatabase=one",
    "password=hunter22",
    "cache,password=hunter,22 !",
    // the rest of a password with a comma in it, whatever it looks like
    "cache,password=maybe,hunter22",
    "cache,password=maybe,hunter22:6379",
    "cache,password=maybe,hunter22=",
    "cache,password=maybe,hunter22=true",
    "cache,password=maybe,password=hunter22",
    "cache,password=hunter,ssl=maybe",
    "password=maybe,hunter22",
    // the text before an @ that is not percent-encoded is not a host
    "redis://hunter22:6379/0?x@cache",
    "redis://hunter22:1/0@cache",
    "redis://hunter22?x@cache",
    "redis://hunter22#x@cache",
    "redis+sentinel://hunter22:1/0@s1:26379/main",
    "redis+sentinel://s1/main?sentinelPassword=hunter22@x",
  ])("refuses %s without repeating any of it", (text) => {
    const answer = read(text)
    assert.match(String(answer), /^expected /)
    assert.notInclude(String(answer), "hunter")
    assert.notInclude(String(answer), "maybe")
  })

  it("names the options of .NET that are ignored, and no others", () => {
    assert.deepStrictEqual(warnings("cache,abortConnect=false,password=x,syncTimeout=5"), [
      "the option abortConnect is ignored",
      "the option syncTimeout is ignored",
    ])
    // as StackExchange.Redis spells it: what was typed may be the rest of a password
    assert.deepStrictEqual(warnings("cache,KEEPALIVE=5"), ["the option keepAlive is ignored"])
  })

  it("explains that a password with a comma needs a URL", () => {
    for (const text of ["cache,password=hunter,22", "cache,password=hunter,a=22", "cache,password=a,password=b"]) {
      assert.match(String(read(text)), /comma.*redis:\/\//)
    }
  })

  it("decodes any password that was percent-encoded", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: "grapheme" }), fc.string(), (password, username) => {
        const text = `redis://${encodeURIComponent(username)}:${encodeURIComponent(password)}@cache/1`
        const parsed = parseConnectionString(text)
        assert.isTrue(Result.isSuccess(parsed))
        if (Result.isFailure(parsed) || parsed.success.connection.kind !== "redis") return
        const { connection } = parsed.success
        assert.strictEqual(connection.password && Redacted.value(connection.password), password)
        assert.strictEqual(connection.username ?? "", username)
      }),
    )
  })
})

describe("keyPrefix in a connection string", () => {
  it.each([
    "redis://:pass@cache/2?keyPrefix=app:",
    "redis://cache?keyPrefix=app%3A&ssl=true",
    "redis://cache?keyprefix=app:",
    "redis+sentinel://cache/main?sentinelPassword=other&keyPrefix=app:",
    "rediss+cluster://a,b?keyPrefix=app:",
    "cache:6380,password=pass,ssl=true,keyPrefix=app:",
    "a,b,KeyPrefix=app:",
    "a,b,serviceName=main,keyPrefix=app:",
  ])("is what all keys and channels begin with: %s", (text) => {
    assert.deepInclude(read(text), { keyPrefix: "app:" })
    assert.deepStrictEqual(warnings(text), [])
  })

  it.each(["", "{app}:", "app:*", "a b", "a?", "a[b]", "ä:", "my-vg:", "x".repeat(65)])(
    "is refused where a Cluster, an ACL or the gate could not tell it apart: %j",
    (prefix) => {
      assert.match(
        String(read(`redis://cache?keyPrefix=${encodeURIComponent(prefix)}`)),
        /^expected keyPrefix as 1 to 64/,
      )
      assert.match(String(read(`cache,keyPrefix=${prefix}`)), /^expected keyPrefix as 1 to 64/)
    },
  )

  it("is refused when it is given twice", () => {
    assert.strictEqual(read("redis://cache?keyPrefix=a:&keyprefix=b:"), "expected keyPrefix once")
  })
})
