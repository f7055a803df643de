/** Which addresses are blocked. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { IpIntelFailed, noFacts } from "../../../src/ip-intel/facts.ts"
import { ask, begin, CALLER, caller, enqueue, gateTest, remaining } from "../../support/gate.ts"

describe("the address", () => {
  for (const [fact, setting] of [
    ["vpn", "BlockVpn"],
    ["proxy", "BlockProxy"],
    ["tor", "BlockTor"],
    ["datacenter", "BlockDatacenter"],
  ] as const) {
    gateTest(
      `blocks ${fact} when the setting says so, before any quota is taken`,
      { Security: { [setting]: true } },
      (world) =>
        Effect.gen(function* () {
          world.lookup = () => Effect.succeed({ ...noFacts, [fact]: true })
          expect(yield* ask()).toMatchObject({ _tag: "Blocked", reason: fact })
          expect(world.lookedUp).toEqual([CALLER])
          expect(world.initiated).toEqual([])
          expect(yield* remaining()).toBe(20)
        }),
    )
    gateTest(`lets ${fact} through when the setting says so`, { Security: { [setting]: false } }, (world) =>
      Effect.gen(function* () {
        world.lookup = () => Effect.succeed({ ...noFacts, [fact]: true })
        expect((yield* ask())._tag).toBe("Started")
      }),
    )
  }

  gateTest("blocks VPN, proxy and Tor by default, and neither data centres nor relays", {}, (world) =>
    Effect.gen(function* () {
      const tags: Array<string> = []
      for (const fact of ["vpn", "proxy", "tor", "datacenter", "relay"] as const) {
        world.lookup = () => Effect.succeed({ ...noFacts, [fact]: true })
        tags.push((yield* ask())._tag)
      }
      expect(tags).toEqual(["Blocked", "Blocked", "Blocked", "Started", "Queued"])
    }),
  )

  gateTest(
    "is not looked up for a queue that is full, until it has room",
    { IpIntel: { Provider: "ipapi.is" }, Queue: { MaxLength: 1, DisconnectGraceSeconds: 600 } },
    (world) =>
      Effect.gen(function* () {
        yield* begin(caller(1))
        const waiting = yield* enqueue(caller(2))
        expect((yield* ask(caller(3)))._tag).toBe("QueueFull")
        const looked = world.lookedUp.length
        for (let second = 0; second < 20; second++) {
          expect((yield* ask(caller(4 + second)))._tag).toBe("QueueFull")
          yield* TestClock.adjust("1 second")
        }
        expect(world.lookedUp).toHaveLength(looked)
        yield* Gatekeeper.use((gate) => gate.leave(waiting))
        yield* TestClock.adjust("1 second")
        expect((yield* ask(caller(30)))._tag).toBe("Queued")
      }),
  )

  gateTest("names Tor first when several facts are against an address", {}, (world) =>
    Effect.gen(function* () {
      world.lookup = () => Effect.succeed({ vpn: true, proxy: true, tor: true, datacenter: true, relay: false })
      expect(yield* ask()).toMatchObject({ reason: "tor" })
    }),
  )

  describe("with an unknown fact", () => {
    for (const [fact, setting] of [
      ["vpn", "BlockVpn"],
      ["proxy", "BlockProxy"],
      ["tor", "BlockTor"],
      ["datacenter", "BlockDatacenter"],
    ] as const) {
      for (const OnError of ["block", "allow"] as const) {
        gateTest(
          `is decided by OnError if that fact is blocked: ${fact}, ${OnError}`,
          { Security: { [setting]: true }, IpIntel: { OnError } },
          (world) =>
            Effect.gen(function* () {
              world.lookup = () => Effect.succeed({ ...noFacts, [fact]: null })
              const answer = yield* ask()
              if (OnError === "block") expect(answer).toMatchObject({ _tag: "Blocked", reason: "ip_check_failed" })
              else expect(answer._tag).toBe("Started")
            }),
        )
      }
      gateTest(
        `is let through if that fact is not blocked: ${fact}`,
        { Security: { [setting]: false }, IpIntel: { OnError: "block" } },
        (world) =>
          Effect.gen(function* () {
            world.lookup = () => Effect.succeed({ ...noFacts, [fact]: null })
            expect((yield* ask())._tag).toBe("Started")
          }),
      )
    }

    gateTest("is blocked for a known fact, even if others are unknown", { IpIntel: { OnError: "allow" } }, (world) =>
      Effect.gen(function* () {
        world.lookup = () => Effect.succeed({ vpn: null, proxy: true, tor: null, datacenter: null, relay: null })
        expect(yield* ask()).toMatchObject({ _tag: "Blocked", reason: "proxy" })
      }),
    )
  })

  gateTest(
    "is not looked up when nothing is blocked",
    { Security: { BlockVpn: false, BlockProxy: false, BlockTor: false, BlockDatacenter: false } },
    (world) =>
      Effect.gen(function* () {
        expect((yield* ask())._tag).toBe("Started")
        expect(world.lookedUp).toEqual([])
      }),
  )

  const failed = new IpIntelFailed({ provider: "script", reason: "quota", message: "script answered HTTP 429" })
  gateTest("passes when the provider fails and OnError is allow", {}, (world) =>
    Effect.gen(function* () {
      world.lookup = () => Effect.fail(failed)
      expect((yield* ask())._tag).toBe("Started")
    }),
  )
  gateTest("is blocked when the provider fails and OnError is block", { IpIntel: { OnError: "block" } }, (world) =>
    Effect.gen(function* () {
      world.lookup = () => Effect.fail(failed)
      expect(yield* ask()).toMatchObject({ _tag: "Blocked", reason: "ip_check_failed" })
    }),
  )
})
