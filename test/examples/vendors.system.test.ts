/** One example page a vendor, with the vendor's own SDK, which connects to that vendor's fake with the credential of the gate. */
import { describe } from "vitest"
import { daily } from "./vendors/daily.ts"
import { openai } from "./vendors/openai.ts"
import { vendorPages } from "./vendors/pages.ts"
import { rooms } from "./vendors/rooms.ts"
import { sockets } from "./vendors/sockets.ts"

describe("the example of", () => {
  const pages = vendorPages()
  rooms(pages)
  daily(pages)
  sockets(pages)
  openai(pages)
})
