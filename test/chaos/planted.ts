/**
 * Faults planted on purpose in the program that gates run from: each is a plausible mistake, and its scenario must find
 * it (`npm run verify -- chaos --planted`). The Lua of a changed rule is recompiled when the copy is built.
 */

export interface Planted {
  readonly name: string
  /** the scenario that must find it */
  readonly scenario: string
  /** the source file, and the text in it (exactly once) that is replaced */
  readonly file: string
  readonly from: string
  readonly to: string
  /** what the scenario must report; another violation alone does not count as this fault */
  readonly says: RegExp
}

export const planted: ReadonlyArray<Planted> = [
  {
    // a gate keeps writing to the old master until that is told to be a replica
    name: "failover-unheard",
    scenario: "sentinel-planned",
    file: "src/store/redis/failover.ts",
    from: "client.subscribe(...Object.values(ANNOUNCEMENTS))",
    to: 'client.subscribe("+reboot")',
    says: /tickets of \d+ ms were lost/,
  },
  {
    // an id without a ticket stays in the queue, and those behind it are never called
    name: "junk-stays-in-line",
    scenario: "junk-records",
    file: "src/fifo-queue/rules/shared/load.ts",
    from: "  s.db.zrem(s.keys.waiting, id)\n",
    to: "",
    says: /callers had no outcome|the queue drains: .*\b[1-9]\d* wait/,
  },
  {
    // a script fails on a record that it cannot parse
    name: "record-unchecked",
    scenario: "junk-records",
    file: "src/store/rules/redis/native.ts",
    from: "const [ok, value] = pcall(cjson.decode, text)",
    to: "const [ok, value] = text === '' ? [false, undefined] : [true, cjson.decode(text)]",
    says: /no new request was answered|callers had no outcome|the queue drains: /,
  },
  {
    // a published message is taken for a received one
    name: "silence-unnoticed",
    scenario: "silent-subscription",
    file: "src/store/redis/subscription-probe.ts",
    from: "const arrived = Deferred.isDoneUnsafe(returned)",
    to: "const arrived = Deferred.isDoneUnsafe(returned) || hasSubscriber",
    says: /start calls after the fault took/,
  },
  {
    // a gate that could not reach the store continues without a report
    name: "outage-untold",
    scenario: "swallowed-path",
    file: "src/fifo-queue/reach.ts",
    from: "if (since === undefined) return attempt",
    to: "if (since === undefined || since >= 0) return attempt",
    says: /callers ended as "(missed|abandoned)"/,
  },
  {
    // a turn is missed although its gate could not pass on the caller's start
    name: "silent-gate-not-waited-for",
    scenario: "swallowed-path",
    file: "src/fifo-queue/rules/shared/outage.ts",
    from: "if (gate !== s.context.instance || isCutOff(s)) return s.db.zscore(s.keys.gates, gate)",
    to: "if (gate === s.context.instance && isCutOff(s)) return s.db.zscore(s.keys.gates, gate)",
    says: /callers ended as "missed"/,
  },
  {
    // callers are absent although their gate could not report them present
    name: "silent-gate-is-dead",
    scenario: "swallowed-path",
    file: "src/fifo-queue/rules/shared/outage.ts",
    from: "return heardAt === undefined || heardAt < s.now - DEAD_MILLIS",
    to: "return heardAt !== undefined || gate !== ''",
    says: /callers ended as "abandoned"/,
  },
  {
    // a machine that was suspended keeps the clock difference to Redis that it measured on connecting
    name: "time-measured-once",
    scenario: "gate-suspended",
    file: "src/store/redis/connection.ts",
    from: "Effect.suspend(() => (verified ? measure : Effect.void))",
    to: "Effect.suspend(() => (verified && !isUsable() ? measure : Effect.void))",
    says: /heard of its turn \d+ ms after the end of it/,
  },
  {
    // callers are called although running calls hold all that is left
    name: "held-time-uncounted",
    scenario: "budget-waits",
    file: "src/fifo-queue/rules/shared/awaited-budgets.ts",
    from: "return cap + adjusted - settled - held",
    to: "return cap + adjusted - settled - Math.min(held, 0)",
    says: /W1: \d+ are called/,
  },
  {
    // who waits at the close is told at once that it is closed
    name: "waits-end-at-the-close",
    scenario: "hours",
    file: "src/gatekeeper/Hours.ts",
    from: "servedMillis: hours.servedMillis } as const",
    to: "servedMillis: 0 } as const",
    says: /H1: the wait of caller \d+ ended \d+ ms early/,
  },
  {
    // a wait that the close has ended counts toward the limits
    name: "closed-waits-count",
    scenario: "hours",
    file: "src/fifo-queue/rules/shared/closing.ts",
    from: 'endTicket(s, id, ticket, "closed", "refund")',
    to: 'endTicket(s, id, ticket, "closed", "missed")',
    says: /H2: caller \d+ ended as "closed" and could ask/,
  },
  {
    // the claim of the gate that has looked first never ends, and no other look finds whose budget has more again
    name: "look-claimed-for-good",
    scenario: "own-budget-waits",
    file: "src/fifo-queue/rules/unpaid.ts",
    from: "if (claimed > s.now && claimed - s.now <= claimMillis) return {}",
    to: "if (claimed > 0) return {}",
    says: /W8: the budget of a caller/,
  },
]
