/** AssemblyAI's Voice Agent, by its WebSocket: its package on npm has no client of it. */
import { fieldsOf, text } from "../../web/widget/gate/json.ts"
import { fromBase64 } from "../../web/widget/vendors/samples.ts"
import { connectSocket } from "../../web/widget/vendors/socket.ts"
import type { Vendor } from "../../web/widget/vendors/vendor.ts"

/** The rate of an agent that names none. */
const RATE = 24_000

const assemblyai: Vendor = {
  sdk: undefined,
  connector:
    () =>
    ({ details, token = "" }, caller) => {
      const { agentId, url } = fieldsOf(details)
      const address = new URL(text(url) ?? "")
      address.searchParams.set("token", token)
      return connectSocket(
        address,
        {
          rate: RATE,
          begin: { type: "session.update", session: { agent_id: agentId } },
          isReady: ({ type }) => type === "session.ready",
          audio: (audio) => ({ type: "input.audio", audio }),
          end: { type: "session.end" },
          hear: ({ data, status, text: words, type }, player) => {
            const said = text(words)
            if (type === "reply.audio") player.push(fromBase64(text(data) ?? ""))
            else if (type === "input.speech.started" || (type === "reply.done" && status === "interrupted"))
              player.clear()
            else if (said && (type === "transcript.user" || type === "transcript.agent"))
              caller.turn({ role: type === "transcript.user" ? "caller" : "agent", text: said })
            else if (type === "session.ended") caller.ended("remote")
          },
        },
        caller,
      )
    },
}

export default assemblyai
