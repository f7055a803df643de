/** An agent of Retell: the page waits with the headless client, which gives the credential to `retell-client-js-sdk`. */
import { createVoiceAgent } from "voicegate/widget"
import { show } from "./page.ts"

show(createVoiceAgent({ gate: "/", sdk: () => import("retell-client-js-sdk") }))
