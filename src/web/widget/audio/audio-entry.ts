/**
 * `audio.js`: what runs beside the page's thread, so that a busy page costs a call nothing. It is loaded twice: as the audio worklet, and
 * as the worker that holds the session's WebSocket.
 */
import { serveLine } from "../call/line-worker.ts"
import { registerProcessors } from "./processors.ts"

if ("AudioWorkletProcessor" in globalThis) registerProcessors()
else serveLine()
