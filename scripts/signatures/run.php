<?php
// Calls the function of verify.php with each case, and prints a line with its answer.

error_reporting(E_ALL);
set_error_handler(fn($number, $text) => throw new ErrorException($text));
require 'verify.php';

foreach (file('php://stdin', FILE_IGNORE_NEW_LINES) as $line) {
    $field = fn($text) => $text === '-' ? null : base64_decode($text);
    echo verify(...array_map($field, explode(',', $line))) ? "yes\n" : "no\n";
}
