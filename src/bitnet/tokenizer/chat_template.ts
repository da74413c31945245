/**
 * Conversations to prompts, by the Jinja template of a model.
 *
 * @module
 */

import { Template } from "@huggingface/jinja";
import { requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";

/**
 * A message of a conversation.
 * @category Tokens
 */
export interface ChatMessage {
  /** `system`, `user`, `assistant`, or another role that the model's template knows. */
  readonly role: string;
  /** The text. */
  readonly content: string;
}

/**
 * The chat template of BitNet b1.58 2B4T, for files without one.
 * @category Tokens
 */
export const DEFAULT_CHAT_TEMPLATE: string =
  "{% for message in messages %}{% if loop.first %}{{ bos_token }}{% endif %}" +
  "{{ message['role'] | capitalize + ': ' + message['content'] | trim + '<|eot_id|>' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ 'Assistant: ' }}{% endif %}";

/**
 * Part of the template that Microsoft's converter writes into every GGUF file of BitNet. It is a
 * placeholder: the model was trained with the default template, and rambles with this one.
 */
const PLACEHOLDER = "BITNETAssistant: ";

function checkMessages(messages: readonly ChatMessage[]): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    const given = Array.isArray(messages) ? "empty" : describeValue(messages);
    throw new TypeError(
      `Cannot render a chat as messages must be a nonempty array: it is ${given}`,
    );
  }
  messages.forEach((message: ChatMessage, index) => {
    requireObject(message, `messages[${index}]`, "render a chat");
    for (const name of ["role", "content"] as const) {
      if (typeof message[name] === "string") continue;
      throw new TypeError(
        `Cannot render a chat as messages[${index}].${name} must be a string: ` +
          `it is ${describeValue(message[name])}`,
      );
    }
  });
}

/** A compiled chat template. */
export class ChatTemplate {
  readonly #template: Template;
  readonly #specialTokens: Readonly<Record<string, string>>;

  /**
   * @param source The Jinja template of the model; undefined for the default.
   * @param specialTokens The texts that templates know as `bos_token`, `eos_token` and so on.
   * @throws {Error} If the template is no valid Jinja.
   */
  constructor(source: string | undefined, specialTokens: Readonly<Record<string, string>>) {
    const text = source === undefined || source.includes(PLACEHOLDER)
      ? DEFAULT_CHAT_TEMPLATE
      : source;
    try {
      this.#template = new Template(text);
    } catch (error) {
      throw new Error(
        `Cannot read the chat template as it must be valid Jinja: ${(error as Error).message}`,
        { cause: error },
      );
    }
    this.#specialTokens = specialTokens;
  }

  /**
   * @param addGenerationPrompt Whether the prompt ends with the start of the assistant's answer.
   * @throws {TypeError} If the messages are no nonempty array of roles and texts.
   * @throws {Error} If the template refuses the messages.
   */
  render(messages: readonly ChatMessage[], addGenerationPrompt: boolean): string {
    checkMessages(messages);
    try {
      return this.#template.render({
        ...this.#specialTokens,
        messages,
        add_generation_prompt: addGenerationPrompt,
      });
    } catch (error) {
      throw new Error(
        `Cannot render a chat as the model's template refuses it: ${(error as Error).message}`,
        { cause: error },
      );
    }
  }
}
