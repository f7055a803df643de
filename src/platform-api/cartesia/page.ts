/** Cartesia's agents, by their WebSocket: its package on npm has no client of them. They send no transcript. */
import { fieldsOf, text } from "../../web/widget/gate/json.ts"
import { fromBase64 } from "../../web/widget/vendors/samples.ts"
import { connectSocket } from "../../web/widget/vendors/socket.ts"
import type { Vendor } from "../../web/widget/vendors/vendor.ts"

const RATE = 44_100

const cartesia: Vendor = {
  sdk: undefined,
  connector:
    () =>
    ({ details, token = "", url = "" }, caller) => {
      const { streamId: stream_id, version } = fieldsOf(details)
      const address = new URL(url)
      address.searchParams.set("access_token", token)
      address.searchParams.set("cartesia_version", text(version) ?? "")
      return connectSocket(
        address,
        {
          rate: RATE,
          begin: { event: "start", stream_id, config: { input_format: "pcm_44100" } },
          isReady: ({ event }) => event === "ack",
          audio: (payload) => ({ event: "media_input", stream_id, media: { payload } }),
          hear: ({ event, media }, player) => {
            if (event === "media_output") player.push(fromBase64(text(fieldsOf(media).payload) ?? ""))
            else if (event === "clear") player.clear()
          },
        },
        caller,
      )
    },
}

export default cartesia
