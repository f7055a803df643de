/** An agent of Daily: the page waits with the headless client, which gives the credential to `@daily-co/daily-js`. */
import { createVoiceAgent } from "voicegate/widget"
import { show } from "./page.ts"

show(createVoiceAgent({ gate: "/", sdk: () => import("@daily-co/daily-js") }))
