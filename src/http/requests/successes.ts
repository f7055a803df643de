/** The schemas of the gate's successful answers. */
import { Schema } from "effect"
import { PlatformTrouble } from "../../fifo-queue/operator-schemas.ts"
import { Queued, SilenceAnswer as Silence, Started, TicketStatus } from "../../protocol/Session.ts"

/** 200: the session has started. */
export const StartedAnswer = Schema.Struct({
  status: Schema.Literal("started").annotate({ description: "The session has started." }),
  ...Started.fields,
}).annotate({
  identifier: "Started",
})

/** 202: the ticket waits. */
export const QueuedAnswer = Schema.Struct({
  status: Schema.Literal("queued").annotate({ description: "The ticket waits." }),
  uniqueRequestId: Queued.fields.uniqueRequestId,
  queuePosition: Queued.fields.queuePosition,
  estimatedWaitSeconds: Queued.fields.estimatedWaitSeconds,
  disrupted: TicketStatus.fields.disrupted,
  paused: TicketStatus.fields.paused,
  pausedUntil: TicketStatus.fields.pausedUntil,
  eventsUrl: Schema.String.annotate({
    description: "Where the ticket's events are pushed, by WebSocket or Server-Sent Events.",
  }),
}).annotate({ identifier: "Queued" })

export const TicketStatusAnswer = TicketStatus.annotate({ identifier: "TicketStatus" })

/** 201: the vendor's answer to the page's offer. */
export const SdpAnswer = Schema.String.annotate({ description: "The vendor's SDP answer." })
export const sdpHeaders = {
  location: Schema.optionalKey(
    Schema.String.annotate({ description: "Ends with the vendor's own id of the call, where the vendor names one." }),
  ),
}

export const SilenceAnswer = Silence.annotate({ identifier: "SilenceAnswer" })

export const SessionEndedAnswer = Schema.Struct({
  released: Schema.Boolean.annotate({ description: "false for repeats and unknown sessions" }),
})

export const LiveAnswer = Schema.Struct({
  status: Schema.Literal("ok").annotate({ description: "The process answers." }),
})
export const ReadyAnswer = Schema.Struct({
  status: Schema.Literal("ready").annotate({ description: "The gate accepts callers." }),
  platforms: Schema.optionalKey(
    Schema.Record(Schema.String, PlatformTrouble).annotate({
      description:
        "The campaigns whose platform serves nobody now, and why, or reports no ends of calls (`webhooks_missing`); absent while all work. Their callers wait at this instance as at any other.",
    }),
  ),
})
