/** What an attacker could have learned so far: credentials that he was given, and ids that answers contained. */
import type { Chance } from "../harness/chance.ts"

/** The last few of many. */
class Recent {
  private readonly kept: Array<string> = []
  private next = 0

  add(text: string): void {
    this.kept[this.next] = text
    this.next = (this.next + 1) % 64
  }

  /** draws the same from the chance however many there are */
  pick(chance: Chance, otherwise: string): string {
    const drawn = chance.below(1 << 20)
    return this.kept[drawn % Math.max(1, this.kept.length)] ?? otherwise
  }
}

export interface Credentials {
  readonly consoleToken: string
  readonly webhookToken: string
  readonly signingSecret: string
  /** keys of the local platform: unrestricted with user management, and restricted */
  readonly keys: readonly [string, ...ReadonlyArray<string>]
  readonly cookie: string
  readonly business: string
  readonly campaign: string
  /** ids of what all cases need, which none may delete or revoke */
  readonly kept: ReadonlyArray<string>
  /** texts that no answer and no line of output may hold */
  readonly secrets: ReadonlyArray<string>
}

const FOUND: ReadonlyArray<readonly [keyof Pools, RegExp]> = [
  ["tickets", /"uniqueRequestId":"([^"]+)"/g],
  ["sessions", /"sessionId":"([^"]+)"/g],
  ["ids", /"(?:id|webSessionId|callId)":"([^"]+)"/g],
  ["sockets", /"sessionWebSocketURL":"wss?:\/\/[^/"]+([^"]+)"/g],
]

interface Pools {
  readonly tickets: Recent
  readonly sessions: Recent
  readonly ids: Recent
  /** paths of the platform's session WebSockets, with their tokens */
  readonly sockets: Recent
}

export class Known implements Pools {
  readonly credentials: Credentials
  readonly tickets = new Recent()
  readonly sessions = new Recent()
  readonly ids = new Recent()
  readonly sockets = new Recent()

  constructor(credentials: Credentials) {
    this.credentials = credentials
  }

  /** Remembers what an answer names. */
  learn(body: string): void {
    for (const [pool, pattern] of FOUND) {
      for (const [, found] of body.matchAll(pattern)) {
        if (found !== undefined && !this.credentials.kept.includes(found)) this[pool].add(found)
      }
    }
  }
}
