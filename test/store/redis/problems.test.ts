/** How a server of Redis that cannot be reached is described. */
import { assert, describe, it } from "@effect/vitest"
import { describeProblem } from "../../../src/store/redis/problems.ts"
import { connectionTo } from "../../harness/stores.ts"

const fault = (message: string, code: string) => Object.assign(new Error(message), { code })

describe("a problem of reaching Redis", () => {
  const describeIt = describeProblem(connectionTo("redis://:secret-word@redis.internal:6379"))
  for (const [name, error, words] of [
    [
      "a name that does not exist",
      fault("getaddrinfo ENOTFOUND redis.internal", "ENOTFOUND"),
      "the name redis.internal cannot be resolved (ENOTFOUND): check its spelling, and that this machine's DNS knows it",
    ],
    [
      "a DNS that does not answer",
      fault("getaddrinfo EAI_AGAIN redis.internal", "EAI_AGAIN"),
      "the name redis.internal could not be looked up (EAI_AGAIN): check this machine's DNS",
    ],
    [
      "a port on which nothing listens",
      fault("connect ECONNREFUSED 10.0.0.7:6379", "ECONNREFUSED"),
      "10.0.0.7:6379 refused the connection (ECONNREFUSED): check the address, and that Redis runs and listens there",
    ],
    [
      "a name with several addresses of which none is listened on",
      new AggregateError([
        fault("connect ECONNREFUSED ::1:6379", "ECONNREFUSED"),
        fault("connect ECONNREFUSED 127.0.0.1:6379", "ECONNREFUSED"),
      ]),
      "::1:6379 refused the connection (ECONNREFUSED): check the address, and that Redis runs and listens there",
    ],
    [
      "a network without a way there",
      fault("connect EHOSTUNREACH 10.0.0.7:6379", "EHOSTUNREACH"),
      "10.0.0.7:6379 cannot be reached (EHOSTUNREACH): check the address, the network and its firewalls",
    ],
  ] as const) {
    it(`names what to check: ${name}`, () => {
      assert.deepStrictEqual(describeIt(error), { refused: false, kind: "OTHER", message: words })
    })
  }

  it("says of a key that another node serves what that means: a wrong address, or for a client of the Cluster a failover", () => {
    const redirected = new Error("Too many Cluster redirections. Last error: ReplyError: MOVED 866 127.0.0.1:7001")
    const crossing = new Error("CROSSSLOT Keys in request don't hash to the same slot")
    for (const error of [redirected, crossing]) {
      const { message, refused } = describeIt(error)
      assert.isTrue(refused)
      assert.include(message, "the server is a node of a Cluster: use redis+cluster://")
    }
    const ofCluster = describeProblem(connectionTo("redis+cluster://127.0.0.1:7001,127.0.0.1:7002"))
    assert.deepStrictEqual(ofCluster(redirected), {
      refused: false,
      kind: "MOVED",
      message: "the nodes of the Cluster do not agree on which of them serves these keys (MOVED), as during a failover",
    })
    const { message, refused } = ofCluster(crossing)
    assert.deepStrictEqual([refused, message.includes("keys of several hash slots (CROSSSLOT)")], [true, true])
    assert.strictEqual(ofCluster(new Error("CLUSTERDOWN The cluster is down")).kind, "CLUSTERDOWN")
  })

  it("shows no secret, also where an error repeats it", () => {
    assert.notInclude(describeIt(fault("getaddrinfo ENOTFOUND secret-word", "ENOTFOUND")).message, "secret-word")
  })
})
