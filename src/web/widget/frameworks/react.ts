"use client"

/**
 * For React 18 and 19: defines `<voice-agent>`, declares it for JSX, and has a hook for a user interface of your own. React 19 sets
 * properties and listens to events (`onstatechange`); with React 18 use the attributes, and `addEventListener` on a ref.
 */
import { type ClassAttributes, type HTMLAttributes, useEffect, useRef, useState, useSyncExternalStore } from "react"
import type { VoiceAgentElement } from "../element/element-api.ts"
import { createVoiceAgent, type VoiceAgent, type VoiceAgentOptions, type VoiceAgentState } from "../index.ts"
import type { VoiceAgentAttributes, VoiceAgentListeners, VoiceAgentProperties } from "./attributes.ts"

/** The props of `<voice-agent>`. */
export interface VoiceAgentProps
  extends Omit<HTMLAttributes<VoiceAgentElement>, "onmessage">,
    ClassAttributes<VoiceAgentElement>,
    VoiceAgentAttributes,
    VoiceAgentProperties,
    VoiceAgentListeners {
  /** of React 18, which has no `className` for elements like this */
  class?: string | undefined
}

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "voice-agent": VoiceAgentProps
    }
  }
}

/**
 * A voice agent without the widget's user interface, and its state. It is left when the component goes, and resumes its place after a
 * reload. Options may change; a call takes those of when it begins.
 */
export const useVoiceAgent = (options: VoiceAgentOptions = {}): readonly [VoiceAgentState, VoiceAgent] => {
  const [current] = useState(() => ({ ...options }))
  const [agent] = useState(() => createVoiceAgent(current))
  const isMounted = useRef(false)
  useEffect(() => {
    Object.assign(current, options)
  })
  useEffect(() => {
    isMounted.current = true
    void agent.resume()
    return () => {
      isMounted.current = false
      // strict mode mounts again at once
      queueMicrotask(() => isMounted.current || agent.leave())
    }
  }, [agent])
  const read = (): VoiceAgentState => agent.state
  const [subscribe] = useState(() => (changed: () => void) => agent.on("state", changed))
  return [useSyncExternalStore(subscribe, read, read), agent]
}
