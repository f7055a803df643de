/** The texts of `extras.js`, in English. As with those of the widget, `languages/*.json` has them in other languages. */
export const extraStrings = {
  "consent.title": "Before we start",
  "consent.policy": "Privacy policy",
  "consent.agree": "Agree and continue",
  "rating.question": "How was the call?",
  "rating.value": "{n} out of 5",
  "rating.thanks": "Thanks for your rating.",
  "float.open": "Keep in a small window",
  "handoff.offer": "Continue on another device",
  "handoff.text":
    "Scan the code with the other device, or open the link there. Keep this page open until your place is there. Anyone with the link can take it.",
  "handoff.copy": "Copy link",
  "handoff.title": "Continue here",
  "handoff.take": "You can take the call here too.",
} as const satisfies Readonly<Record<string, string>>
